package event

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
)

var lineSeeds = []string{
	`{"seq":12,"epoch":1,"run":"r","thread":"t","task":"k","ns":"a:1|b:2","node":"agent","step":1,"at":1794701862466000,"kind":"text_delta","data":{"item":"m","block":2,"text":"ele"}}`,
	`{"seq":1,"at":0,"kind":"arguments_delta","data":{"item":"c","text":"{\"a\": \"\\n\"}"}}`,
	`{"seq":1,"step":-1,"at":-5,"kind":"text_delta","data":{"item":"","text":"\t\r\n\"\\"}}`,
	`{"seq":18446744073709551615,"at":9223372036854775807,"kind":"text_delta","data":{"item":"m","text":"é中😀"}}`,
	`{"seq":1,"at":01,"kind":"text_delta","data":{"item":"m","text":""}}`,
	`{"seq":1,"at":-0,"kind":"text_delta","data":{"item":"m","block":0,"text":"x"}}`,
	`{"seq":1,"at":-,"kind":"text_delta","data":{"item":"m","text":"x"}}`,
	`{"seq":1,"run":"","at":1,"kind":"text_delta","data":{"item":"m","text":"x"}}`,
	`{"seq":1,"at":1,"kind":"text_delta","data":{"item":"m","text":"\u2028\ud800\ud83d\ude00\/\b"}}`,
	`{"seq":1,"at":1,"kind":"text_delta","data":{"item":"m","text":"\x"}}`,
	`{"seq":1,"at":1,"kind":"text_delta","data":{"item":"m","text":"cut\`,
	`{"seq":1,"at":1,"kind":"text_delta","data":{"item":"m","text":"x","text":"y"}}`,
	`{"seq":1,"at":1,"kind":"text_delta","data":{"item":"m","text":"x"}}}`,
	"{\"seq\":1,\"at\":1,\"kind\":\"text_delta\",\"data\":{\"item\":\"m\",\"text\":\"\xff\"}}",
	"{\"seq\":1,\"at\":1,\"kind\":\"text_delta\",\"data\":{\"item\":\"m\",\"text\":\"\n\"}}",
	`{"seq":99999999999999999999,"at":1,"kind":"text_delta","data":{"item":"m","text":"x"}}`,
	`{"seq":1,"at":1,"kind":"block_ended","data":{"item":"m","block":0,"value":{"type":"text","text":"all\n\u2028of it"}}}`,
	`{"seq":1,"at":1,"kind":"block_ended","data":{"item":"m","block":0,"value":{"type":"text","text":"a","text":"b"}}}`,
	`{"seq":1,"at":1,"kind":"block_ended","data":{"item":"m","block":1,"value":{"type":"image","url":"u","annotations":[{"type":"x","start":1,"end":2}]}}}`,
	`{"seq":1,"at":1,"kind":"node_ended","data":{"execution":"x","update":{"messages":[{"content":"a"}]},"cached":true}}`,
	`{"seq":1,"at":1,"kind":"node_ended","data":{"execution":"x","update":null}}`,
	`{"seq":1,"at":1,"kind":"node_ended","data":{"execution":"x","update":{},"error":{"code":"c","message":"m"},"interrupts":["i"]}}`,
	`{"seq":1,"at":1,"kind":"node_ended","data":{"execution":"x","update":{"a":1},"Update":2}}`,
	`{"seq":1,"at":1,"kind":"item_ended","data":{"status":"completed","item":{"type":"message","value":{"content":"hi","id":"m","additional_kwargs":{},"response_metadata":{},"type":"ai"}}}}`,
	`{"seq":1,"at":1,"kind":"item_ended","data":{"status":"completed","item":{"type":"hologram","value":{}}}}`,
	`{"seq":1,"at":1,"kind":"run_started","data":{"graph":"g","attempt":1}}`,
	`{"seq":1,"at":1,"kind":"run_started","data":{"graph":"g","attempt":1},"data":{}}`,
	`{"seq":1,"at":1,"kind":"l\u0061ter","data":{"graph":"g"}}`,
	`{"seq":1,"at":1,"kind":"later","data":{"graph":"g"},"at":2}`,
}

// The short cut may only ever be faster: it never takes what encoding/json refuses, and never reads it otherwise. Each line
// is read after another, whose words it may share.
func FuzzScanAgreesWithEncodingJSON(f *testing.F) {
	for i, s := range lineSeeds {
		f.Add([]byte(lineSeeds[max(i-1, 0)]), []byte(s))
	}
	f.Add([]byte(`{"seq":1,"node":"a\"b","at":1,"kind":"text_delta","data":{"item":"\\n","text":""}}`), []byte(`{"seq":1,"node":"a"b","at":1,"kind":"text_delta","data":{"item":"\n","text":""}}`))
	f.Fuzz(func(t *testing.T, before, data []byte) {
		var d Decoder
		var short Envelope
		_ = d.scan(before, &short)
		short = Envelope{}
		if !d.scan(data, &short) {
			if !reflect.DeepEqual(short, Envelope{}) {
				t.Fatalf("%q was not taken and yet left %#v", data, short)
			}
			return
		}
		var want Envelope
		if err := want.unmarshal(data); err != nil {
			t.Fatalf("the short cut took %q, which encoding/json refuses: %v", data, err)
		}
		if !reflect.DeepEqual(short, want) {
			t.Fatalf("%q\n short cut     %#v\n encoding/json %#v", data, short, want)
		}
	})
}

// Without this, the test above would also pass with a short cut that takes nothing.
func TestShortCutReadsWhatAppendJSONWrites(t *testing.T) {
	var d Decoder
	for _, e := range []Event{
		TextDelta{Item: "m", Text: " world"},
		TextDelta{Item: "m", Block: 3, Text: "\"quoted\"\n\ttabbed\\"},
		TextDelta{},
		ArgumentsDelta{Item: "c", Text: `{"q":"é"}`},
		BlockEnded{Item: "m", Value: item.Block{Type: item.TextBlock, Text: "all\n\u2028of it"}},
		ItemEnded{Item: item.AssistantText("m", "all of it"), Status: item.Completed},
		NodeEnded{Execution: "x", Update: json.RawMessage(`{"messages":[]}`)},
		RunStarted{Graph: "g", Attempt: 1},
	} {
		want := Envelope{Seq: 7, Epoch: 2, Run: "r", Thread: "t", Node: "agent", Step: 4, At: time.UnixMicro(1).UTC(), Event: e}
		data, err := want.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got Envelope
		if !d.scan(data, &got) {
			t.Errorf("the short cut does not take %s", data)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %#v\nwant %#v", data, got, want)
		}
	}
}

// Whatever can be read, in whatever spelling, is written in one form, and that form is read and written as itself.
func FuzzWhatDecodesEncodesToItself(f *testing.F) {
	for _, s := range lineSeeds {
		f.Add([]byte(s))
	}
	for kind := range decoders {
		f.Add([]byte(`{"seq":1,"at":1,"kind":"` + kind + `","data":{}}`))
	}
	f.Add([]byte(` {"SEQ":3, "kind":"later","data":{ "a" : [ 1.0 , "\ud800" ] },"at":2} `))
	f.Add([]byte(`{"seq":1,"at":1,"kind":"item_ended","data":{"status":"completed","item":{"type":"message","value":{"role":"user","content":[{"type":"x"}]}}}}`))
	f.Add([]byte(`{"seq":1,"at":1,"kind":"node_ended","data":{"update":null,"error":{"code":"c"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first Envelope
		if first.UnmarshalJSON(data) != nil {
			return
		}
		written, err := first.AppendJSON(nil)
		if err != nil {
			t.Fatalf("%q decodes to %#v, which does not encode: %v", data, first, err)
		}
		var second Envelope
		if err := second.UnmarshalJSON(written); err != nil {
			t.Fatalf("%q is written as %s, which does not decode: %v", data, written, err)
		}
		again, err := second.AppendJSON(nil)
		if err != nil || !bytes.Equal(again, written) {
			t.Fatalf("%q is written as %s and then as %s (%v)", data, written, again, err)
		}
	})
}
