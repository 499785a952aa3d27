package event_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

func encode(t interface {
	Helper()
	Fatalf(string, ...any)
}, e event.Envelope) []byte {
	t.Helper()
	data, err := e.AppendJSON(nil)
	if err != nil {
		t.Fatalf("encode %#v: %v", e, err)
	}
	return data
}

func TestEveryKindComesBackFromJSONAsItWas(t *testing.T) {
	for _, kind := range append(event.Kinds(), "a kind of tomorrow") {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := eventtest.Envelope(t)
				want.Event = eventtest.OfKind(t, kind)
				data := encode(t, want)
				var got event.Envelope
				if err := got.UnmarshalJSON(data); err != nil {
					t.Fatalf("decode %s: %v", data, err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s\n got %#v\nwant %#v", data, got, want)
				}
			})
		})
	}
}

func TestEncodedEnvelopeIsOneLineOfValidJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := encode(t, eventtest.Envelope(t))
		if bytes.ContainsAny(data, "\n\r") || !utf8.Valid(data) || !json.Valid(data) {
			t.Fatalf("not one line of JSON in UTF-8: %q", data)
		}
	})
}

func TestTextThatIsNotUTF8IsRepairedWhereverItStands(t *testing.T) {
	for name, e := range map[string]event.Event{
		"text":     event.TextDelta{Item: "i", Text: "a\xffb"},
		"raw JSON": event.Custom{Data: json.RawMessage("\"a\xffb\"")},
		"unknown":  event.Unknown{Name: "later", Data: json.RawMessage("{\"x\":\"a\xffb\"}")},
	} {
		t.Run(name, func(t *testing.T) {
			data := encode(t, event.Envelope{Seq: 1, Event: e})
			if !utf8.Valid(data) || !strings.Contains(string(data), "a\ufffdb") && !strings.Contains(string(data), `a\ufffdb`) {
				t.Errorf("got %q, want U+FFFD for the broken byte", data)
			}
		})
	}
}

func TestRawJSONKeepsItsSpelling(t *testing.T) {
	const raw = `{"html":"<b>&amp;</b>","number":1.50,"escaped":"\u00e9\/","twice":1,"twice":2}`
	for name, e := range map[string]event.Event{
		"custom":         event.Custom{Data: json.RawMessage(raw)},
		"update":         event.NodeEnded{Execution: "x", Update: json.RawMessage(raw)},
		"foreign block":  event.BlockEnded{Item: "i", Value: item.Block{Type: item.ForeignBlock, Foreign: json.RawMessage(raw)}},
		"inside an item": event.ItemEnded{Item: item.Message{Role: item.User, Kwargs: json.RawMessage(raw)}},
	} {
		t.Run(name, func(t *testing.T) {
			data := encode(t, event.Envelope{Seq: 1, Event: e})
			if !bytes.Contains(data, []byte(raw)) {
				t.Errorf("got %s, want %s in it", data, raw)
			}
		})
	}
}

// A node of this version reads journals that a newer one wrote, during a rolling upgrade or after a step back.
func TestWhatANewerVersionWroteIsKeptByteForByte(t *testing.T) {
	for name, data := range map[string]string{
		"kind":      `{"z":1,"a":[1.50,"<é\u00e9>",null],"z":{"deep":{}}}`,
		"item type": `{"status":"completed","item":{"type":"hologram","value":{"beams":[3,2,1]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			kind := "probability_collapsed"
			if name == "item type" {
				kind = "item_ended"
			}
			line := `{"seq":9,"epoch":2,"run":"r","at":5,"kind":"` + kind + `","data":` + data + `}`
			var e event.Envelope
			if err := json.Unmarshal([]byte(strings.ReplaceAll(line, ":", " : ")), &e); err != nil {
				t.Fatal(err)
			}
			if u, ok := e.Event.(event.Unknown); !ok || u.Name != kind {
				t.Fatalf("got %#v, want an Unknown named %s", e.Event, kind)
			}
			if got := string(encode(t, e)); got != line {
				t.Errorf("got  %s\nwant %s", got, line)
			}
		})
	}
}

func TestEncodingRefusesWhatCouldNotBeReadBack(t *testing.T) {
	for name, e := range map[string]event.Event{
		"no event":          nil,
		"no item":           event.ItemEnded{},
		"broken raw JSON":   event.Custom{Data: json.RawMessage(`{"a":`)},
		"unknown, no data":  event.Unknown{Name: "later"},
		"unknown, a list":   event.Unknown{Name: "later", Data: json.RawMessage(`[]`)},
		"unknown, cut data": event.Unknown{Name: "later", Data: json.RawMessage(`{"a"`)},
	} {
		t.Run(name, func(t *testing.T) {
			envelope := event.Envelope{Seq: 1, Event: e}
			before := []byte("kept")
			if after, err := envelope.AppendJSON(before); err == nil || string(after) != "kept" {
				t.Errorf("got %q and error %v, want the buffer as it was and an error", after, err)
			}
		})
	}
}

func TestDecodingSaysWhatIsWrong(t *testing.T) {
	for line, want := range map[string]string{
		`{"seq":1,"at":1,"kind":"custom","data":[]}`:               "data must be an object",
		`{"seq":1,"at":1,"kind":"custom"}`:                         "data must be an object",
		`{"seq":1,"at":1,"data":{}}`:                               "event without a kind",
		`{"seq":-1,"at":1,"kind":"text_delta","data":{}}`:          "seq",
		`{"seq":1,"at":1,"kind":"item_ended","data":{}}`:           "event item_ended",
		`{"seq":1,"at":1,"kind":"item_ended","data":{"item":{}}}`:  "an item needs a type",
		`{"seq":1,"at":1,"kind":"text_delta","data":{"text":[1]}}`: "event text_delta",
		`[]`: "event",
	} {
		var e event.Envelope
		if err := e.UnmarshalJSON([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", line, err, want)
		}
	}
}

func TestTimesAreKeptToTheMicrosecond(t *testing.T) {
	at := time.Date(2026, 11, 15, 10, 0, 0, 123456789, time.FixedZone("CET", 3600))
	var got event.Envelope
	if err := got.UnmarshalJSON(encode(t, event.Envelope{Seq: 1, At: at, Event: event.Custom{Data: json.RawMessage(`1`)}})); err != nil {
		t.Fatal(err)
	}
	if want := at.UTC().Truncate(time.Microsecond); got.At != want {
		t.Errorf("got %v, want %v", got.At, want)
	}
}

func TestSamplesShowEveryKindOnceInOrder(t *testing.T) {
	var kinds []string
	for _, e := range eventtest.Samples() {
		kinds = append(kinds, e.Event.Kind())
	}
	if !slices.Equal(kinds, event.Kinds()) {
		t.Errorf("got  %v\nwant %v", kinds, event.Kinds())
	}
}

// Most kinds are written by hand; their tags, from which docs/events.md is made, must tell the same form to the byte.
func TestHandWrittenFormIsTheOneThatTagsTell(t *testing.T) {
	for _, kind := range event.Kinds() {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				e := eventtest.OfKind(t, kind)
				got, ok := bytes.CutPrefix(encode(t, event.Envelope{Seq: 1, At: time.UnixMicro(1), Event: e}), []byte(`{"seq":1,"at":1,"kind":"`+kind+`","data":`))
				if !ok {
					t.Fatalf("got %s", got)
				}
				if want := append(byTags(t, e), '}'); !bytes.Equal(got, want) {
					t.Fatalf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}

// byTags is what encoding/json makes of an event. An item's type and value stand side by side, which no tag can say.
func byTags(t *rapid.T, e event.Event) []byte {
	var v any = e
	if ended, ok := e.(event.ItemEnded); ok {
		type tagged struct {
			Type  item.Type `json:"type"`
			Value any       `json:"value"`
		}
		v = struct {
			Status item.Status     `json:"status"`
			Item   tagged          `json:"item"`
			Update json.RawMessage `json:"update,omitempty"`
		}{ended.Status, tagged{ended.Item.ItemType(), ended.Item}, ended.Update}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
