package lead

import (
	"cmp"
	"encoding/json"
	"strings"
)

// decision is what a person says about a call.
type decision struct {
	do        string // one of the four answers
	arguments json.RawMessage
	why       string
}

// words are how front ends say it.
var words = map[string]string{
	"approve": approveOnce, "approved": approveOnce, "accept": approveOnce, "accepted": approveOnce, "allow": approveOnce, "yes": approveOnce, "y": approveOnce, "ok": approveOnce, "true": approveOnce,
	"approve_for_thread": approveThread, "approve_thread": approveThread, "always": approveThread, "allow_always": approveThread,
	"edit": editCall, "edited": editCall,
	"reject": rejectCall, "rejected": rejectCall, "deny": rejectCall, "no": rejectCall, "n": rejectCall, "false": rejectCall, "ignore": rejectCall, "response": rejectCall, "respond": rejectCall,
}

// readDecision reads an answer: a word, any other text (which rejects, in these words), or an object. Objects are our own
// {"decision": …, "arguments": …, "reason": …}, LangChain's {"decisions": [{"type": …, "edited_action": {"args": …}, "message": …}]} and
// its agent inbox's [{"type": …, "args": …}]. What cannot be read approves nothing.
func readDecision(raw json.RawMessage) (d decision, problem string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return decisionOf(text)
	}
	var yes bool
	if json.Unmarshal(raw, &yes) == nil && string(raw) != "null" {
		return decisionOf(strings.ToLower(string(raw)))
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return readDecision(list[0])
	}
	var o struct {
		Decisions []json.RawMessage `json:"decisions"`
		Decision  string            `json:"decision"`
		Type      string            `json:"type"`
		Arguments json.RawMessage   `json:"arguments"`
		Args      json.RawMessage   `json:"args"`
		Edited    struct {
			Args json.RawMessage `json:"args"`
		} `json:"edited_action"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	const unclear = "say approve, approve_for_thread, edit (with arguments) or reject (with a reason)"
	if json.Unmarshal(raw, &o) != nil {
		return d, unclear
	}
	if len(o.Decisions) == 1 {
		return readDecision(o.Decisions[0])
	}
	d.do = words[strings.ToLower(cmp.Or(o.Decision, o.Type))]
	d.why = cmp.Or(o.Reason, o.Message)
	for _, args := range []json.RawMessage{o.Arguments, o.Args, o.Edited.Args} {
		if len(args) > 0 && string(args) != "null" {
			d.arguments = args
			break
		}
	}
	switch d.do {
	case "":
		return d, unclear
	case editCall:
		return d, d.readArguments()
	case rejectCall:
		if d.why == "" {
			_ = json.Unmarshal(d.arguments, &d.why) // the agent inbox has the words there
		}
	}
	return d, ""
}

// readArguments checks the arguments that a person wrote: an object, or the text of one, or an action with its args.
func (d *decision) readArguments() (problem string) {
	var text string
	if json.Unmarshal(d.arguments, &text) == nil {
		d.arguments = json.RawMessage(text)
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(d.arguments, &o) != nil || o == nil {
		return "the edited arguments must be an object"
	}
	if inner, ok := o["args"]; ok && o["action"] != nil && len(o) == 2 {
		d.arguments = inner
	}
	return ""
}

func decisionOf(text string) (decision, string) {
	if do := words[strings.ToLower(strings.TrimSpace(text))]; do == editCall {
		return decision{}, "to edit, answer with an object that has arguments"
	} else if do != "" {
		return decision{do: do}, ""
	}
	if strings.TrimSpace(text) == "" {
		return decision{}, "say approve, approve_for_thread, edit or reject"
	}
	return decision{do: rejectCall, why: text}, ""
}
