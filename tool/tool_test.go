package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

type order struct {
	City  string   `json:"city" jsonschema:"name of the city"`
	Days  int      `json:"days,omitempty" jsonschema:"how many days ahead"`
	Units []string `json:"units,omitempty"`
	At    struct {
		Hour int `json:"hour"`
	} `json:"at,omitzero"`
}

// weather answers with what it was asked, so that a test sees what reached the function.
func weather() tool.Tool {
	return tool.Func("weather", "Tells the weather.", func(_ context.Context, in order) (string, error) {
		b, err := json.Marshal(in)
		return string(b), err
	})
}

func invoke(t *testing.T, tl tool.Tool, args string) item.ToolResult {
	t.Helper()
	res, err := tool.Invoke(t.Context(), tl, tool.Call{ID: "c1", Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	if res.CallID != "c1" || res.Name != tl.Spec().Name || len(res.Content) == 0 || len(res.Blocks) == 0 {
		t.Errorf("result %+v lacks the call, the name or a view", res)
	}
	return res
}

func TestSchemaIsInferredFromTheArguments(t *testing.T) {
	spec := weather().Spec()
	var schema struct {
		Type       string
		Required   []string
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || len(schema.Required) != 1 || schema.Required[0] != "city" {
		t.Errorf("schema %s, want an object that requires city", spec.Schema)
	}
	if got := schema.Properties["days"].Description; got != "how many days ahead" {
		t.Errorf("description of days is %q", got)
	}
	if spec.Repeatable || !tool.Repeatable(weather()).Spec().Repeatable {
		t.Error("a tool is repeatable if, and only if, it says so")
	}
}

func TestArgumentsReachTheFunctionOnlyIfTheyFit(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"fit":             {`{"city":"Paris","days":2}`, `{"city":"Paris","days":2}`},
		"fence":           {"```json\n{\"city\":\"Paris\"}\n```", `{"city":"Paris"}`},
		"comma":           {`{"city":"Paris",}`, `{"city":"Paris"}`},
		"single quotes":   {`{'city': 'Paris'}`, `{"city":"Paris"}`},
		"unclosed object": {`{"city":"Paris","at":{"hour":3}`, `{"city":"Paris","at":{"hour":3}}`},
		"prose around":    {`Sure, here it is: {"city":"Paris",} Tell me if I can help.`, `{"city":"Paris"}`},
		"prose, unclosed": {`Call: {"at":{"hour":3}, "city":"Paris"`, `{"city":"Paris","at":{"hour":3}}`},
		"fence and prose": {"Here:\n```json\n{'city': 'l\\'Aquila'}\n```\nDone.", `{"city":"l'Aquila"}`},
		"Python":          {`{'city': 'Paris', 'units': None}`, `{"city":"Paris"}`},
		"encoded twice":   {`"{\"city\":\"Paris\"}"`, `{"city":"Paris"}`},
	} {
		t.Run(name, func(t *testing.T) {
			res := invoke(t, weather(), tc.args)
			if got := item.JoinText(res.Content); res.Error || got != tc.want {
				t.Errorf("got %q (failed: %v), want %q", got, res.Error, tc.want)
			}
			if got := item.JoinText(res.Blocks); got != tc.want {
				t.Errorf("people see %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRefusalsNameTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		want []string
	}{
		"missing":         {`{}`, []string{"city is missing (name of the city)"}},
		"nothing":         {``, []string{"city is missing"}},
		"wrong type":      {`{"city":"Paris","days":"two"}`, []string{`days must be integer, not "two"`}},
		"fraction":        {`{"city":"Paris","days":1.5}`, []string{"days must be integer, not 1.5"}},
		"unknown field":   {`{"city":"Paris","day":2}`, []string{"day is not a field", "at, city, days, units"}},
		"element":         {`{"city":"Paris","units":["C",7]}`, []string{"units[1] must be string, not 7"}},
		"nested":          {`{"city":"Paris","at":{"hour":"3"}}`, []string{`at.hour must be integer, not "3"`}},
		"several":         {`{"days":"x","at":{}}`, []string{"city is missing", "days must be integer", "at.hour is missing"}},
		"not an object":   {`[1]`, []string{"the whole must be object, not [1]"}},
		"cut in string":   {`{"city":"Par`, []string{"end in the middle of a string"}},
		"cut escape":      {`{"city":"Par\"`, []string{"end in the middle of a string"}},
		"prose":           {`please look up Paris`, []string{"not valid JSON"}},
		"cut after prose": {`Sure: {"city":"Par`, []string{"end in the middle of a string"}},
		"cut in quotes":   {`{'city': 'Par`, []string{"end in the middle of a string"}},
		"two objects":     {`{"city":"Paris"} {"city":"Rome"}`, []string{"not valid JSON"}},
		"a list of one":   {`[{"city":"Paris"},]`, []string{"not valid JSON"}},
		"far too long":    {`{"city":"` + strings.Repeat("x", 1<<20) + `",}`, []string{"not valid JSON"}},
		"deep":            {strings.Repeat(`{"at":[`, 1<<20), []string{"not valid JSON"}},
		"repair misfits":  {`{'town': 'Paris'}`, []string{"not valid JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			res := invoke(t, weather(), tc.args)
			got := item.JoinText(res.Content)
			if !res.Error {
				t.Fatalf("arguments %s were accepted: %s", tc.args, got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("refusal %q does not say %q", got, want)
				}
			}
		})
	}
}

// raw is a tool with a schema written by hand, as MCP servers and embedders have them.
type raw struct {
	schema string
	call   func(tool.Call) (item.ToolResult, error)
}

func (r raw) Spec() tool.Spec {
	return tool.Spec{Name: "raw", Schema: json.RawMessage(r.schema)}
}

func (r raw) Call(_ context.Context, call tool.Call) (item.ToolResult, error) { return r.call(call) }

func TestHandWrittenSchemas(t *testing.T) {
	echo := func(c tool.Call) (item.ToolResult, error) {
		return item.ToolResult{Content: item.Text(string(c.Arguments))}, nil
	}
	for name, tc := range map[string]struct{ schema, args, want string }{
		"none":       {``, `{"a":1}`, `{"a":1}`},
		"none given": {``, ``, `{}`},
		"enum":       {`{"type":"object","properties":{"u":{"enum":["C","F"]}}}`, `{"u":"K"}`, `u must be one of "C", "F", not "K"`},
		"range":      {`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":20}}}`, `{"n":21}`, `n must be at most 20, not 21`},
		"below":      {`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":20}}}`, `{"n":0}`, `n must be at least 1, not 0`},
		"one of":     {`{"type":"object","properties":{"n":{"oneOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"n":"x"}`, `/properties/n`},
		"map":        {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"k":1}`, `k must be string, not 1`},
		"broken":     {`{"type":`, `{}`, `schema of the arguments`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := item.JoinText(invoke(t, raw{tc.schema, echo}, tc.args).Content); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestAFailingToolGivesAFailedResult(t *testing.T) {
	for name, tc := range map[string]struct {
		call func(tool.Call) (item.ToolResult, error)
		want string
	}{
		"error": {func(tool.Call) (item.ToolResult, error) { return item.ToolResult{}, errors.New("no such city") }, "no such city"},
		"output beside the error": {func(tool.Call) (item.ToolResult, error) {
			return tool.Text(": stderr"), errors.New("exit status 1")
		}, "exit status 1: stderr"},
		"silent error": {func(tool.Call) (item.ToolResult, error) { return item.ToolResult{}, errors.New("") }, "without saying why"},
		"panic":        {func(tool.Call) (item.ToolResult, error) { panic("nobody home") }, "nobody home"},
		"runtime panic": {func(c tool.Call) (item.ToolResult, error) {
			return item.ToolResult{}, fmt.Errorf("byte %d", c.Arguments[len(c.Arguments)])
		}, "index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			res := invoke(t, raw{call: tc.call}, `{}`)
			if got := item.JoinText(res.Content); !res.Error || !strings.Contains(got, tc.want) {
				t.Errorf("got %q (failed: %v), want %q in it", got, res.Error, tc.want)
			}
			if got := item.JoinText(res.Blocks); !strings.Contains(got, tc.want) {
				t.Errorf("people see %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestSilenceIsSaid(t *testing.T) {
	res := invoke(t, raw{call: func(tool.Call) (item.ToolResult, error) { return item.ToolResult{}, nil }}, ``)
	if res.Error || item.JoinText(res.Content) == "" {
		t.Errorf("got %+v, want a success that says that there was nothing", res)
	}
}

func TestTwoViewsStayTwo(t *testing.T) {
	both := item.ToolResult{Content: item.Text("for the model"), Blocks: item.Text("for people")}
	res := invoke(t, tool.Func("two", "", func(context.Context, struct{}) (item.ToolResult, error) { return both, nil }), ``)
	if item.JoinText(res.Content) != "for the model" || item.JoinText(res.Blocks) != "for people" {
		t.Errorf("got %+v", res)
	}
}

func TestAbortGoesPastTheModel(t *testing.T) {
	want := errors.New("ask a person")
	_, err := tool.Invoke(t.Context(), raw{call: func(tool.Call) (item.ToolResult, error) {
		return item.ToolResult{}, tool.Abort(want)
	}}, tool.Call{})
	if err != want {
		t.Errorf("error %v, want the very error that was aborted with", err)
	}
	if tool.Abort(nil) != nil {
		t.Error("aborting with nil is an error")
	}
}

func TestFuncOfCallSeesTheCall(t *testing.T) {
	var got tool.Call
	tl := tool.FuncOfCall("t", "", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
		got = c
		return "ok", nil
	})
	if _, err := tool.Invoke(t.Context(), tl, tool.Call{ID: "c9", Owner: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got.ID != "c9" || got.Owner != "ann" {
		t.Errorf("call %+v", got)
	}
}

func TestFuncRefusesWhatHasNoObjectSchema(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a function of a string was taken for a tool")
		}
	}()
	tool.Func("t", "", func(context.Context, string) (string, error) { return "", nil })
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"city":"Paris"}`, `{'city': 'Paris', }`, "```json\n{\"city\":\"P\"}", `{"city":"Par`, `{"city": None}`, `[[[[`, `{"city":"\ud800"}`, `"{\"city\":\"x\"}"`} {
		f.Add(s)
	}
	// Whatever a model writes: the tool sees arguments that fit, or is not called.
	tl := tool.Func("t", "", func(_ context.Context, in order) (string, error) { return "called", nil })
	f.Fuzz(func(t *testing.T, args string) {
		res, err := tool.Invoke(t.Context(), tl, tool.Call{ID: "c", Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		text := item.JoinText(res.Content)
		if res.Error == (text == "called") {
			t.Errorf("failed: %v, text %q", res.Error, text)
		}
		if strings.Contains(text, "the arguments do not fit:") || strings.Contains(text, "broke") {
			t.Errorf("arguments %q passed the check and were refused by the decoder: %s", args, text)
		}
	})
}
