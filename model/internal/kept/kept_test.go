package kept_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/model/internal/kept"
)

func object(t *rapid.T) []byte {
	m := rapid.MapOfN(rapid.StringMatching(`[a-z_"é]{1,6}`), rapid.Int(), 0, 4).Draw(t, "object")
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func same(t interface{ Fatalf(string, ...any) }, a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return reflect.DeepEqual(x, y)
}

func TestWhatIsPutIsTakenAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := object(t)
		mark := kept.Mark{Provider: rapid.StringN(1, 5, -1).Draw(t, "provider"), Follows: rapid.String().Draw(t, "follows")}
		typ := rapid.SampledFrom([]string{"", "executableCode"}).Draw(t, "type")
		put := kept.Put(raw, typ, mark)
		if kept.Type(put) != typ && typ != "" {
			t.Fatalf("%s has another type than %q", put, typ)
		}
		got, m, ok := kept.Take(put)
		mark.Typed = typ != ""
		if !ok || m != mark || !same(t, got, raw) {
			t.Fatalf("%s of %+v: took %s of %+v", raw, mark, got, m)
		}
	})
}

func TestATypeOfTheProvidersStays(t *testing.T) {
	raw := `{"type":"web_search_call","id":"ws_1"}`
	put := kept.Put([]byte(raw), "", kept.Mark{Provider: "p"})
	if got, _, ok := kept.Take(put); !ok || !same(t, got, []byte(raw)) {
		t.Errorf("put as %s, taken as %s", put, got)
	}
}

func TestWhatIsNotMarkedIsNotOurs(t *testing.T) {
	for _, foreign := range []string{``, `{`, `[]`, `{}`, `{"type":"image"}`, `{"tributary":1}`, `{"tributary":{}}`, `{"tributary":{"provider":7}}`, `{"tributary":{"provider":""}}`} {
		if raw, m, ok := kept.Take([]byte(foreign)); ok {
			t.Errorf("%s: took %s of %+v", foreign, raw, m)
		}
	}
	for _, raw := range []string{"", "[]", "null", "{"} {
		if put := kept.Put([]byte(raw), "x", kept.Mark{Provider: "p"}); put != nil {
			t.Errorf("%q was marked: %s", raw, put)
		}
	}
}

// A client may write the object anew, in another order and with white space.
func TestMarksSurviveBeingWrittenAnew(t *testing.T) {
	put := kept.Put([]byte(` { "b" : [1, {"type":"x"}] , "a":"é" } `), "part", kept.Mark{Provider: "p"})
	var v any
	if err := json.Unmarshal(put, &v); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got, _, ok := kept.Take(again)
	var raw, want any
	_ = json.Unmarshal(got, &raw)
	_ = json.Unmarshal([]byte(`{"a":"é","b":[1,{"type":"x"}]}`), &want)
	if !ok || !reflect.DeepEqual(raw, want) {
		t.Errorf("got %s", got)
	}
}
