package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// The JSON form of an envelope is one flat object on one line:
//
//	{"seq":12,"epoch":1,"run":"…","thread":"…","task":"…","ns":"…","node":"agent","step":1,"at":1794701862466000,"kind":"text_delta","data":{…}}
//
// Empty fields are left out. "at" is in microseconds since 1970.

// AppendJSON appends the envelope's JSON form to dst: UTF-8, without line ends, with raw values spelled as
// they came. It fails only if there is no event, or if a RawMessage inside it is not valid JSON; then it
// returns dst as it was.
func (e *Envelope) AppendJSON(dst []byte) ([]byte, error) {
	if e.Event == nil {
		return dst, errors.New("encode: the envelope holds no event")
	}
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	if e.Epoch != 0 {
		dst = append(dst, `,"epoch":`...)
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
	}
	dst = jsonline.AppendOptField(dst, "run", e.Run)
	dst = jsonline.AppendOptField(dst, "thread", e.Thread)
	dst = jsonline.AppendOptField(dst, "task", e.Task)
	dst = jsonline.AppendOptField(dst, "ns", e.NS)
	dst = jsonline.AppendOptField(dst, "node", e.Node)
	if e.Step != 0 {
		dst = append(dst, `,"step":`...)
		dst = strconv.AppendInt(dst, int64(e.Step), 10)
	}
	dst = append(dst, `,"at":`...)
	dst = strconv.AppendInt(dst, e.At.UnixMicro(), 10)
	dst = append(dst, `,"kind":`...)
	dst = jsonline.AppendString(dst, e.Event.Kind())
	dst = append(dst, `,"data":`...)
	dst, err := appendData(dst, e.Event)
	if err != nil {
		return dst[:start], fmt.Errorf("encode %s: %w", e.Event.Kind(), err)
	}
	return append(dst, '}'), nil
}

// appendPlain is json.Marshal without its escapes for HTML, so that what was handed to us as JSON stays as it was
// spelled, and with bytes that are not UTF-8 replaced in such JSON too. What is written by hand has the same form.
func appendPlain(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if data := line[len(dst):]; !utf8.Valid(data) {
		return append(dst, bytes.ToValidUTF8(data, []byte("\ufffd"))...), nil
	}
	return line, nil
}

// MarshalJSON writes the same form as AppendJSON; json.Marshal then adds its escapes for HTML.
func (e Envelope) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// UnmarshalJSON reads what AppendJSON wrote, and any JSON object of the same shape.
func (e *Envelope) UnmarshalJSON(data []byte) error {
	var d Decoder
	return d.Decode(data, e)
}

// unmarshal is UnmarshalJSON for every spelling.
func (e *Envelope) unmarshal(data []byte) error {
	var w struct {
		Seq    uint64          `json:"seq"`
		Epoch  int             `json:"epoch"`
		Run    string          `json:"run"`
		Thread string          `json:"thread"`
		Task   string          `json:"task"`
		NS     string          `json:"ns"`
		Node   string          `json:"node"`
		Step   int             `json:"step"`
		At     int64           `json:"at"`
		Kind   string          `json:"kind"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	ev, err := Decode(w.Kind, w.Data)
	if err != nil {
		return err
	}
	*e = Envelope{w.Seq, w.Epoch, w.Run, w.Thread, w.Task, w.NS, w.Node, w.Step, time.UnixMicro(w.At).UTC(), ev}
	return nil
}

// Decode reads the object of one kind. A kind that is not known, or one that holds an item of a type that is
// not known, gives an [Unknown].
func Decode(kind string, data []byte) (Event, error) {
	if len(data) == 0 || data[0] != '{' {
		return nil, fmt.Errorf("event %q: data must be an object", kind)
	}
	read, ok := decoders[kind]
	if !ok {
		if kind == "" {
			return nil, fmt.Errorf("event without a kind")
		}
		return Unknown{kind, bytes.Clone(data)}, nil
	}
	ev, err := read(data)
	var newer *item.UnknownTypeError
	if errors.As(err, &newer) { // a kind we know around an item that we do not
		return Unknown{kind, bytes.Clone(data)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", kind, err)
	}
	return ev, nil
}

func decode[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}

// MarshalJSON writes the same form as [Envelope.AppendJSON]; json.Marshal then adds its escapes for HTML.
func (e ItemEnded) MarshalJSON() ([]byte, error) { return e.append(nil) }

func (e *ItemEnded) UnmarshalJSON(data []byte) error {
	var w itemEndedJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	it, err := item.Unmarshal(w.Item)
	*e = ItemEnded{it, w.Status, w.Update}
	return err
}

type itemEndedJSON struct {
	Status item.Status     `json:"status"`
	Item   json.RawMessage `json:"item"`
	Update json.RawMessage `json:"update"`
}
