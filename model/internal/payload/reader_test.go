package payload_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/model/internal/payload"
)

// value reads whatever stands there, as encoding/json would into an any, but for numbers, which are whole.
func value(r *payload.Reader) any {
	switch r.Kind() {
	case '{':
		m := map[string]any{}
		for name := range r.Object {
			n := string(name)
			m[n] = value(r)
		}
		return m
	case '[':
		l := []any{}
		for range r.Array {
			l = append(l, value(r))
		}
		return l
	case '"':
		return r.Text()
	case 't', 'f':
		return r.Bool()
	case 'n':
		r.Skip()
		return nil
	}
	return float64(r.Int())
}

// whole cuts the numbers of a decoded document down to what Int reads.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v > 1<<53 || v < -1<<53 {
			return 0.0
		}
		return float64(int(v))
	}
	return v
}

func read(data []byte) (any, error) {
	var r payload.Reader
	r.Reset(data)
	v := value(&r)
	return v, r.End()
}

func skip(data []byte) error {
	var r payload.Reader
	r.Reset(data)
	r.Skip()
	return r.End()
}

// agree holds the Reader to encoding/json.
func agree(t interface{ Fatalf(string, ...any) }, data []byte) {
	var want any
	if json.Unmarshal(data, &want) != nil {
		return
	}
	if err := skip(data); err != nil {
		t.Fatalf("%q cannot be passed over: %v", data, err)
	}
	got, err := read(data)
	if err != nil || !reflect.DeepEqual(got, whole(want)) {
		t.Fatalf("%q: got %#v and %v, want %#v", data, got, err, want)
	}
}

func document(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.String().Draw(t, "string")
		case 1:
			return rapid.Int32().Draw(t, "number")
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			return nil
		case 4:
			return rapid.SliceOfN(document(depth-1), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.String(), document(depth-1), 0, 4).Draw(t, "object")
	})
}

func TestReadsWhatThePackageOfTheLibraryReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(3).Draw(t, "document")
		tight, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, tight)
		wide, err := json.MarshalIndent(doc, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		agree(t, wide)
	})
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5,1e3,true,false,null,"é\u00e9\ud83d\ude00\ud800x\"\\\/\b"],"":{}}`, " \r\n[ 1 , 2 ]\t", `"\ud800\udc00\ud800\ud800"`,
		"\"\xff\xc3\"", `"\u12"`, `{"a":1,}`, `[1 2]`, `{"a"}`, `nul`, `-`, `1.`, `1e+`, `[NaN,-Infinity,Infinity]`, `"\`, `"\\"`, `00`, `{"a\n":1,"a":2}`,
		`12345678901234567890123`, strings.Repeat("[", 5000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data)
		_, _ = read(data)
	})
}

func TestWhatIsNoJSONIsAnError(t *testing.T) {
	for _, doc := range []string{
		"", " ", "{", "}", "[", "]", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{1:1}`, `{"a":1 "b":2}`, "[1,]", "[1 2]", "[,1]",
		`"`, `"abc`, `"\"`, `"\\\"`, "tru", "nul", "fals", "truex", "-", "+1", ".5", "1.", "1e", "1e+", "1x", "Nan", "Inf", "1 2", "{}{}", "{} x", "<html>",
		"{]", "[}", "\x00", strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		if _, err := read([]byte(doc)); err == nil && !strings.HasPrefix(doc, "[[") {
			t.Errorf("%q was read", doc)
		}
		if skip([]byte(doc)) == nil {
			t.Errorf("%q was passed over", doc)
		}
	}
	for _, doc := range []string{`"\x"`, `"\u12G4"`, `"\u+123"`, `{"\x":1}`} {
		if _, err := read([]byte(doc)); err == nil {
			t.Errorf("%q was read", doc)
		}
	}
}

func TestWhatServersSendAgainstTheStandardIsRead(t *testing.T) {
	for doc, want := range map[string]any{
		`[NaN,Infinity,-Infinity,7]`: []any{0.0, 0.0, 0.0, 7.0},
		"\"a\tb\nc\"":                "a\tb\nc",
	} {
		if got, err := read([]byte(doc)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v and %v", doc, got, err)
		}
	}
}

func TestAValueOfAnotherKindReadsAsNothing(t *testing.T) {
	var r payload.Reader
	for _, other := range []string{`{"a":1}`, `[1,"x"]`, "true", "null", "1.5e3", `"12"`} {
		r.Reset([]byte(`[` + other + `,` + other + `,` + other + `,` + other + `,` + other + `,"after"]`))
		var after string
		for i := range r.Array {
			switch i {
			case 0:
				if s := r.Text(); s != "" && other[0] != '"' {
					t.Errorf("%s is the text %q", other, s)
				}
			case 1:
				if n := r.Int(); n != 0 && other[0] != '1' {
					t.Errorf("%s is the number %d", other, n)
				}
			case 2:
				if r.Bool() != (other == "true") {
					t.Errorf("%s as a truth value", other)
				}
			case 3:
				for range r.Object {
					if other[0] != '{' {
						t.Errorf("%s is an object", other)
					}
				}
			case 4:
				for range r.Array {
					if other[0] != '[' {
						t.Errorf("%s is an array", other)
					}
				}
			case 5:
				after = r.Text()
			}
		}
		if err := r.End(); err != nil || after != "after" {
			t.Errorf("behind %s: %q, %v", other, after, err)
		}
	}
}

func TestRawIsTheValueAsItStands(t *testing.T) {
	var r payload.Reader
	r.Reset([]byte(` { "a" : { "b" : [ 1 , 2 ] } , "c" : "x\ny" } `))
	got := map[string]string{}
	for name := range r.Object {
		n := string(name)
		got[n] = string(r.Raw())
	}
	if want := map[string]string{"a": `{ "b" : [ 1 , 2 ] }`, "c": `"x\ny"`}; r.End() != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestLeavingALoopLeavesTheRestReadable(t *testing.T) {
	var r payload.Reader
	r.Reset([]byte(`{"list":[1,2,3],"after":4}`))
	after := 0
	for name := range r.Object {
		switch string(name) {
		case "list":
			for range r.Array {
				break
			}
		case "after":
			after = r.Int()
		}
	}
	if after != 4 || r.End() != nil {
		t.Errorf("got %d, %v", after, r.End())
	}
}

func TestReadingAllocatesOnlyStrings(t *testing.T) {
	data := []byte(`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"word"},"logprobs":null}],"model":"m","usage":{"prompt_tokens":12,"details":{"a":[1,2,{"b":"c"}]}}}`)
	var r payload.Reader
	name, n := "m", 0
	got := testing.AllocsPerRun(100, func() {
		r.Reset(data)
		for key := range r.Object {
			switch string(key) {
			case "model":
				name = r.Same(name)
			case "choices":
				for range r.Array {
					for key := range r.Object {
						if string(key) == "index" {
							n += r.Int()
						}
					}
				}
			}
		}
		if r.End() != nil {
			t.Error(r.End())
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// A text is the same wherever a server that counts in UTF-16 cut it.
func TestHalvesOfCharactersAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := utf16.Encode([]rune(rapid.StringOf(rapid.RuneFrom([]rune("aé漢😀🦀퟿\uE000\"\\"))).Draw(t, "text")))
		whole := string(utf16.Decode(units))
		var got strings.Builder
		var h payload.Halves
		for len(units) > 0 {
			n := rapid.IntRange(1, len(units)).Draw(t, "units")
			var quoted strings.Builder
			for _, u := range units[:n] {
				fmt.Fprintf(&quoted, `\u%04x`, u)
			}
			units = units[n:]
			var r payload.Reader
			r.Reset([]byte(`"` + quoted.String() + `"`))
			got.WriteString(h.Join(r.Piece()))
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
		}
		got.WriteString(h.Rest())
		if got.String() != whole {
			t.Fatalf("got %q, want %q", got.String(), whole)
		}
	})
}

func TestAHalfThatStandsAloneIsShownAsMissing(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`a\ud83d`, `b`}, "a\uFFFDb"},
		{[]string{`a\ude00`, `b`}, "a\uFFFDb"},
		{[]string{`\ud83d`, `\ud83d`, `\ude00`}, "\uFFFD😀"},
		{[]string{`\ud83d\ud83d\ude00`}, "\uFFFD😀"},
		{[]string{`\ud83d`, ``, `\ude00`}, "😀"},
		{[]string{`x\ud83d`}, "x\uFFFD"},
		{[]string{`\ud83d`, `\ude00\ude00`}, "😀\uFFFD"},
		{[]string{"\xed\xa0\xbd", "\xed\xb8\x80"}, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"}, // bytes that are no UTF-8 are no halves
	} {
		var got strings.Builder
		var h payload.Halves
		for _, p := range c.pieces {
			var r payload.Reader
			r.Reset([]byte(`"` + p + `"`))
			got.WriteString(h.Join(r.Piece()))
		}
		got.WriteString(h.Rest())
		if got.String() != c.want {
			t.Errorf("%q: got %q, want %q", c.pieces, got.String(), c.want)
		}
	}
}
