package jsonline_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// reference is what encoding/json makes of a value.
func reference(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	return line, err
}

// anyBytes draws strings with everything that needs care, at any distance from each other.
func anyBytes(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.StringMatching(`[ -~]{0,20}`),
		rapid.SampledFrom([]string{"\"", "\\", "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "\x80", "\xff\xfe", "é", "\u2028", "\u2029", "\ufffd", "<&>", "😀", "\xed\xa0\x80"}),
	)
	return strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
}

func TestStringsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyBytes(t)
		want, err := reference(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonline.AppendString([]byte("kept"), s); string(got) != "kept"+string(want) {
			t.Fatalf("%q\n got %s\nwant kept%s", s, got, want)
		}
		var read string
		if err := json.Unmarshal(want, &read); err != nil {
			t.Fatal(err)
		}
		if text, ok := jsonline.Text(want); !ok || text != read {
			t.Fatalf("%s is read as %q", want, text)
		}
	})
}

// checkRaw compares with json.Compact, and what can be seen inside with json.Unmarshal.
func checkRaw(t interface {
	Helper()
	Fatalf(string, ...any)
}, raw []byte) {
	t.Helper()
	if got, want := jsonline.Valid(raw), json.Valid(raw); got != want {
		t.Fatalf("%q is valid: %v, want %v", raw, got, want)
	}
	want, wrong := reference(json.RawMessage(raw))
	got, err := jsonline.AppendRaw([]byte("kept"), raw)
	if (err == nil) != (wrong == nil) || err != nil && string(got) != "kept" {
		t.Fatalf("%q: got %q and error %v, encoding/json has %v", raw, got, err, wrong)
	}
	if err != nil {
		return
	}
	if string(got) != "kept"+string(want) {
		t.Fatalf("%q\n got %s\nwant kept%s", raw, got, want)
	}
	if end, ok := jsonline.Skip(want, 0); !ok || end != len(want) {
		t.Fatalf("%s: skipped to %d of %d, %v", want, end, len(want), ok)
	}
	line, ok := jsonline.Compact(raw)
	if raw != nil && (!ok || !bytes.Equal(line, want)) {
		t.Fatalf("%q: compact is %q, %v", raw, line, ok)
	}
	checkInside(t, want)
}

func checkInside(t interface {
	Helper()
	Fatalf(string, ...any)
}, line []byte) {
	t.Helper()
	var values []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(line))
	switch line[0] {
	case '{':
		_, _ = d.Token()
		for d.More() {
			key, err := d.Token()
			var v json.RawMessage
			if err != nil || d.Decode(&v) != nil {
				t.Fatalf("%s: %v", line, err)
			}
			values = append(values, json.RawMessage(key.(string)), v)
		}
		var got []json.RawMessage
		for key, value := range jsonline.Members(line) {
			text, ok := jsonline.Text([]byte(`"` + string(key) + `"`))
			if !ok {
				t.Fatalf("%s: key %s", line, key)
			}
			got = append(got, json.RawMessage(text), value)
			checkInside(t, value)
		}
		compare(t, line, got, values)
	case '[':
		if err := json.Unmarshal(line, &values); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var got []json.RawMessage
		for value := range jsonline.Elements(line) {
			got = append(got, value)
			checkInside(t, value)
		}
		compare(t, line, got, values)
	case '"':
		var want string
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got, ok := jsonline.Text(line); !ok || got != want {
			t.Fatalf("%s: got %q, want %q", line, got, want)
		}
	default:
		if got, ok := jsonline.Text(line); ok {
			t.Fatalf("%s is read as the text %q", line, got)
		}
	}
}

func compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, line []byte, got, want []json.RawMessage) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Fatalf("%s\n got %q\nwant %q", line, got, want)
	}
}

var rawSeeds = []string{
	``, ` `, `null`, `nul`, `true`, `truex`, `false`, `0`, `-0`, `01`, `-`, `1.`, `1.50`, `1e5`, `1E+05`, `1e`, `.5`, `"`, `"a`, `"a"`, `"a" `, ` "a"`, `"\u00e9\/"`, `"\u00g9"`,
	`"\x"`, "\"\x01\"", "\"a\xffb\xfe\xfd\"", "\"\u2028\"", `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{"a" : [ 1 , 2 ] }`, `[1,]`, `[1 2]`, `{"a"}`, `{1:2}`, `[}`, `{]`, `{"a":{"b":[{},[],""]},"a":2}`,
	`[1,2,3]`, `{"k\"ey":"v"}`, `"<b>&amp;</b>"`, "[\n1\n]", `[[[[]]]]`, `"12345678901234567890\n"`, `{"content":"` + "0123456789abcdef" + `","id":"x"}`, `1 2`, `"a""b"`,
}

func TestRawJSONIsCheckedAndWrittenAsEncodingJSONDoes(t *testing.T) {
	checkRaw(t, nil)
	for _, raw := range rawSeeds {
		checkRaw(t, []byte(raw))
	}
	for _, depth := range []int{9_999, 10_000, 10_001, 20_000} {
		checkRaw2(t, depth)
	}
}

// checkRaw2 holds the depth of nesting to that of encoding/json; looking inside of all of it would take for ever.
func checkRaw2(t *testing.T, depth int) {
	t.Helper()
	raw := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	_, err := jsonline.AppendRaw(nil, raw)
	if (err == nil) != json.Valid(raw) {
		t.Errorf("%d lists in each other: %v, encoding/json says %v", depth, err, json.Valid(raw))
	}
	if _, ok := jsonline.Skip(raw, 0); ok != json.Valid(raw) {
		t.Errorf("%d lists in each other: skipped %v, encoding/json says %v", depth, ok, json.Valid(raw))
	}
}

func FuzzRawJSON(f *testing.F) {
	for _, raw := range rawSeeds {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkRaw(t, raw) })
}

func FuzzString(f *testing.F) {
	f.Add("plain text of more than eight bytes\"\\\n\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := reference(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonline.AppendString(nil, s); !bytes.Equal(got, want) {
			t.Fatalf("%q\n got %s\nwant %s", s, got, want)
		}
	})
}

// An object that cannot be finished leaves the buffer as it was.
func TestBrokenMemberTakesTheWholeObjectBack(t *testing.T) {
	o := jsonline.Begin([]byte("kept"))
	o.String("a", "b")
	o.Raw("broken", []byte(`{"a":`))
	o.Int("n", 1)
	got, err := o.End()
	if err == nil || string(got) != "kept" {
		t.Errorf("got %q and error %v, want the buffer as it was and an error", got, err)
	}
}

func TestObjectIsWrittenAsTagsWouldHaveIt(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type tagged struct {
		A string          `json:"a"`
		B string          `json:"b,omitempty"`
		N int64           `json:"n"`
		M int64           `json:"m,omitempty"`
		T bool            `json:"t,omitempty"`
		R json.RawMessage `json:"r"`
		S json.RawMessage `json:"s,omitempty"`
		L []string        `json:"l,omitempty"`
		I inner           `json:"i"`
		P []inner         `json:"p"`
	}
	rapid.Check(t, func(t *rapid.T) {
		str, num := rapid.SampledFrom([]string{"", "a", "é\n\""}), rapid.SampledFrom([]int64{0, -1, 1 << 40})
		raw := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"x": 1}`), json.RawMessage(`[]`)})
		v := tagged{
			A: str.Draw(t, "a"), B: str.Draw(t, "b"), N: num.Draw(t, "n"), M: num.Draw(t, "m"), T: rapid.Bool().Draw(t, "t"),
			R: raw.Draw(t, "r"), S: raw.Draw(t, "s"), L: rapid.SliceOf(str).Draw(t, "l"), I: inner{int(num.Draw(t, "i"))},
		}
		for range rapid.IntRange(0, 3).Draw(t, "p") {
			v.P = append(v.P, inner{len(v.P)})
		}
		one := func(in inner, dst []byte) ([]byte, error) {
			o := jsonline.Begin(dst)
			o.Int("n", int64(in.N))
			return o.End()
		}
		o := jsonline.Begin(nil)
		o.String("a", v.A)
		o.OptString("b", v.B)
		o.Int("n", v.N)
		o.OptInt("m", v.M)
		o.OptTrue("t", v.T)
		o.Raw("r", v.R)
		o.OptRaw("s", v.S)
		o.OptStrings("l", v.L)
		o.Member("i", func(dst []byte) ([]byte, error) { return one(v.I, dst) })
		jsonline.List(&o, "p", v.P, one)
		got, err := o.End()
		if err != nil {
			t.Fatal(err)
		}
		want, err := reference(v)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, raw := range append(rawSeeds, `"\ud83d\ude00\ud800\u0041\udc00\ud83d"`, `"\ud800\n"`, `"a"b"`, `"\"`, `"é\u00e9\/\b\f"`) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		err := json.Unmarshal(raw, &want)
		isString := err == nil && raw[0] == '"' && raw[len(raw)-1] == '"' // not null, no white space around it
		if got, ok := jsonline.Text(raw); ok != isString || ok && got != want {
			t.Fatalf("%q: got %q, %v; encoding/json has %q, %v", raw, got, ok, want, err)
		}
		if !isString {
			return
		}
		if got, ok := jsonline.AppendText([]byte("kept"), raw[1:len(raw)-1]); !ok || string(got) != "kept"+want {
			t.Fatalf("%q: got %q, %v, want kept%q", raw, got, ok, want)
		}
	})
}

// What follows the beginning of an object is what an Object would have written there.
func TestMembersBehindABeginningAreThoseOfAnObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, opt, list := anyBytes(t), anyBytes(t), rapid.SliceOf(rapid.Just(anyBytes(t))).Draw(t, "list")
		n := rapid.Int().Draw(t, "n")
		raw := rapid.SampledFrom([]string{`{ "a": [1] }`, `null`, `"x"`, `{`, ``}).Draw(t, "raw")

		o := jsonline.Begin(nil)
		o.Int("first", 1)
		o.String("text", text)
		o.OptString("opt", opt)
		o.Int("n", int64(n))
		o.Member("list", func(dst []byte) ([]byte, error) {
			return jsonline.AppendList(dst, append([]string{}, list...), appendOne)
		})
		if json.Valid([]byte(raw)) {
			o.Raw("raw", []byte(raw))
		} else {
			o.Raw("raw", nil)
		}
		want, err := o.End()
		if err != nil {
			t.Fatal(err)
		}

		got := jsonline.AppendField([]byte(`{"first":1`), "text", text)
		got = jsonline.AppendOptField(got, "opt", opt)
		got = jsonline.AppendIntField(got, "n", n)
		got = jsonline.AppendStrings(jsonline.AppendKey(got, "list"), list)
		got = append(jsonline.AppendForeign(jsonline.AppendKey(got, "raw"), []byte(raw)), '}')
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func appendOne(s string, dst []byte) ([]byte, error) { return jsonline.AppendString(dst, s), nil }
