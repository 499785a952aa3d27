package tributary_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"reflect"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/model/scripted"
)

// What there is to choose from, and what each model can do.
func ExampleRuntime_Models() {
	models, err := registry.New(registry.Options{Models: []registry.Config{
		{Name: "large", Provider: "anthropic", Model: "claude-opus-4-6"},
		{Name: "local", Provider: "offline", Model: "offline"},
	}, Getenv: func(string) string { return "" }})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Models: models})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	list, err := rt.Models(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range list {
		fmt.Printf("%s: thinking %v, vision %v, usable %v, default %v\n", m.Name, m.Thinking, m.Vision, m.Problem == "", m.Default)
	}
	// Output:
	// large: thinking true, vision true, usable false, default false
	// local: thinking true, vision false, usable true, default true
}

func TestAModelIsFoundByItsName(t *testing.T) {
	models, err := registry.New(registry.Options{Models: []registry.Config{{Name: "a", Provider: "offline", Model: "offline"}, {Name: "b", Provider: "offline", Model: "offline"}}})
	if err != nil {
		t.Fatal(err)
	}
	rt := open(t, tributary.Options{Models: models})
	if m, err := rt.Model(t.Context(), "", "b"); err != nil || m.Name != "b" || m.Provider != "offline" || m.Default {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := rt.Model(t.Context(), "", "c"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("a model that is not there: %v", err)
	}
}

func TestWhereThereIsNothingToChooseTheOneModelIsListed(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	rt := open(t, tributary.Options{Models: tributary.OneModel(m)})
	got, err := rt.Models(t.Context(), "")
	if want := []model.Listed{{Info: m.Describe(), Default: true}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
