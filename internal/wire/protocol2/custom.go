package protocol2

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
)

// Custom is what a node has to say. If it has no name but its data has one, that is the name, and the data's members are the
// frame's, as they are on LangGraph's servers: clients look for them there. Without a payload among them the data is that too.
func (v *visitor) Custom(e event.Custom) error {
	p := v.p()
	name, members, whole := e.Name, []byte(nil), false
	if name == "" {
		name, members, whole = named(e.Data)
	}
	channel := "custom"
	if name != "" {
		channel = "custom:" + name
	}
	if !p.begin(channel, "custom", p.open(v.env.NS), "") {
		return nil
	}
	b := append(p.buf, '{')
	if members == nil && name != "" {
		b = append(jsonline.AppendString(append(b, `"name":`...), name), ',')
	}
	b = append(b, members...)
	if whole {
		b = b[:len(b)-1] // the comma
	} else {
		b = jsonline.AppendForeign(append(b, `"payload":`...), e.Data)
	}
	p.buf = append(b, '}')
	p.end()
	return nil
}

// named returns the name in an object, and its members with a comma after each; nothing where it has no name. whole says that
// a payload is among them.
func named(data json.RawMessage) (name string, members []byte, whole bool) {
	line, ok := jsonline.Compact(data)
	if !ok || len(line) == 0 || line[0] != '{' {
		return "", nil, false
	}
	for key, value := range jsonline.Members(line) {
		switch string(key) {
		case "payload":
			whole = true
		case "name":
			name, _ = jsonline.Text(value)
		}
		members = append(append(append(append(members, '"'), key...), `":`...), value...)
		members = append(members, ',')
	}
	if name == "" {
		return "", nil, false
	}
	return name, members, whole
}

// Warnings, the progress of tools, teams and plans have no words here. They are custom events, whose type is the kind of event.
func (v *visitor) Warned(e event.Warned) error                 { return v.p().tellFact(e) }
func (v *visitor) ToolProgressed(e event.ToolProgressed) error { return v.p().tellFact(e) }
func (v *visitor) TeamFormed(e event.TeamFormed) error         { return v.p().tellFact(e) }
func (v *visitor) PlanUpdated(e event.PlanUpdated) error       { return v.p().tellFact(e) }
func (v *visitor) Spoken(e event.Spoken) error                 { return v.p().tellFact(e) }
func (v *visitor) TeamDissolved(e event.TeamDissolved) error   { return v.p().tellFact(e) }

// tellFact tells what the protocol has no words for, under its kind's name.
func (p *Projector) tellFact(e event.Event) (err error) {
	if p.begin("custom:"+e.Kind(), "custom", p.open(p.env.NS), "") {
		b := append(jsonline.AppendString(append(p.buf, `{"name":`...), e.Kind()), `,"payload":`...)
		b, err = wire.AppendFact(b, e)
		p.buf = append(b, '}')
		p.end()
	}
	return err
}
