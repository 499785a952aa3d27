package registry_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

func TestARunGetsTheModelThatItsSettingsWishFor(t *testing.T) {
	yes, no := true, false
	reg := open(t, registry.Options{Models: []registry.Config{
		{Name: "plain", Provider: "ollama", Model: "p"}, {Name: "keyless", Provider: "openai", Model: "k"},
		{Name: "thinker", Provider: "ollama", Model: "t", Thinking: &yes, ReasoningEffort: &no, Fallbacks: []string{"plain"}},
	}})
	entry := func(name string) model.Model { e, _ := reg.Lookup(name); return e.Model() }
	on := model.Thinking{On: true}
	for name, c := range map[string]struct {
		settings  string
		inherited []string
		want      model.Model
		thinking  model.Thinking
		warns     []string
		refused   string // the setting
	}{
		"no wish":              {"", nil, entry("plain"), model.Thinking{}, nil, ""},
		"a name":               {`{"model_name":"thinker"}`, nil, entry("thinker"), model.Thinking{}, nil, ""},
		"the short word":       {`{"model":"thinker","thinking_enabled":true}`, nil, entry("thinker"), on, nil, ""},
		"no effort":            {`{"model":"thinker","thinking_enabled":true,"reasoning_effort":"high"}`, nil, entry("thinker"), on, []string{"no_reasoning_effort"}, ""},
		"cannot think":         {`{"model":"plain","thinking_enabled":true}`, nil, entry("plain"), model.Thinking{}, []string{"no_thinking"}, ""},
		"nobody":               {`{"model":"nobody"}`, nil, nil, model.Thinking{}, nil, "model_name"},
		"without a key":        {`{"model":"keyless"}`, nil, nil, model.Thinking{}, nil, "model_name"},
		"the assistant's":      {`{"model":"nobody"}`, []string{"model"}, entry("plain"), model.Thinking{}, []string{registry.UnknownModel}, ""},
		"a wrong type":         {`{"model":7}`, nil, nil, model.Thinking{}, nil, "model"},
		"what cannot be read":  {`[]`, nil, nil, model.Thinking{}, nil, "all"},
		"the keyless one's is": {`{"model":"keyless"}`, []string{"model"}, entry("plain"), model.Thinking{}, []string{registry.UnusableModel}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reg.Choose(t.Context(), model.Wish{Configurable: json.RawMessage(c.settings), Inherited: c.inherited})
			var wish *model.WishError
			if c.refused != "" {
				if !errors.As(err, &wish) || wish.Setting != strings.TrimPrefix(c.refused, "all") || wish.Reason == "" {
					t.Errorf("got %v, want a mistake in %s", err, c.refused)
				}
				return
			}
			var warned []string
			for _, w := range got.Warnings {
				warned = append(warned, w.Code)
			}
			if err != nil || got.Model != c.want || got.Thinking != c.thinking || !reflect.DeepEqual(warned, c.warns) {
				t.Errorf("got %+v, %v; want %v, %+v, %v", got, err, c.want, c.thinking, c.warns)
			}
			if c.want == entry("thinker") && (len(got.Fallbacks) != 1 || got.Fallbacks[0] != entry("plain")) {
				t.Errorf("its fallbacks are %v", got.Fallbacks)
			}
		})
	}
}
