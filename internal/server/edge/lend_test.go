package edge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type lower struct {
	Deep json.RawMessage `json:"deep"`
}

type lendTarget struct {
	lower
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Extra json.RawMessage `json:"extra,omitempty"`
	Any   any             `json:"any"`
	Free  json.RawMessage
}

// same compares what encoding/json makes of a body with what lend leaves it to make.
func same(t interface{ Errorf(string, ...any) }, body []byte) {
	if !json.Valid(body) {
		return
	}
	var want, got lendTarget
	wantErr := json.Unmarshal(body, &want)
	gotErr := json.Unmarshal(lend(bytes.Clone(body), &got), &got)
	if (wantErr == nil) != (gotErr == nil) || wantErr == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.200s: got %+v, %v, want %+v, %v", body, got, gotErr, want, wantErr)
	}
}

var big = `"` + strings.Repeat(`x\"\\ {[]},: `, lendBytes/8) + `"`

func TestLentMembersAreThoseThatWouldBeCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ws := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t "}).Draw(t, "space") }
		var b strings.Builder
		b.WriteString(ws() + "{" + ws())
		n := rapid.IntRange(0, 5).Draw(t, "members")
		for i := range n {
			if i > 0 {
				b.WriteString("," + ws())
			}
			key := rapid.SampledFrom([]string{"name", "input", "Input", "extra", "deep", "Free", "any", "other", `in\u0070ut`}).Draw(t, "key")
			value := rapid.SampledFrom([]string{big, "[" + big + ", " + big + " ]", `{"a": ` + big + `}`, "1", "null", "true", `"s"`, `[]`, ` { } `, "-1.5e3", `""`}).Draw(t, "value")
			b.WriteString(`"` + key + `"` + ws() + ":" + ws() + value + ws())
		}
		b.WriteString("}" + ws())
		same(t, []byte(b.String()))
	})
	for _, body := range []string{"[" + big + "]", big, " " + strings.Repeat(" ", lendBytes) + "7", "{" + strings.Repeat(" ", lendBytes) + "}"} {
		same(t, []byte(body))
	}
}

func FuzzLend(f *testing.F) {
	f.Add([]byte(`{"input":1,"name":"a"}`))
	f.Add([]byte(`{"input" : {"a":[1,"}"]} , "extra":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		same(t, bytes.ReplaceAll(body, []byte("1"), []byte(big)))
	})
}

func TestALargeMemberIsNotCopied(t *testing.T) {
	body := []byte(`{"name":"n", "input":` + big + `}`)
	var got lendTarget
	rest := lend(body, &got)
	if string(rest) != `{"name":"n"}` || string(got.Input) != big || &got.Input[0] != &body[21] {
		t.Errorf("rest %s, input %.20s", rest, got.Input)
	}
	if cap(got.Input) != len(got.Input) {
		t.Error("appending to the member writes into the body")
	}
}
