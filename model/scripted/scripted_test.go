package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// read collects an answer: its parts and the error it ended with.
func read(ctx context.Context, m model.Model) (parts []model.Part, err error) {
	for part, e := range m.Stream(ctx, model.Request{Messages: []item.Message{item.UserText("", "hello there")}}) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func texts(parts []model.Part) []string {
	var out []string
	for _, p := range parts {
		if t, ok := p.(model.Text); ok {
			out = append(out, t.Text)
		}
	}
	return out
}

func TestTextIsCutInsideWords(t *testing.T) {
	parts, err := read(t.Context(), scripted.Always(scripted.Say("one eleven")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := texts(parts), []string{"one", " e", "l", "even"}; !slices.Equal(got, want) {
		t.Errorf("pieces %q, want %q", got, want)
	}
}

func TestWordsKeepTheirLeadingSpace(t *testing.T) {
	parts, _ := read(t.Context(), scripted.Always(scripted.Words("count to  two\nnow")))
	if got, want := texts(parts), []string{"count", " to", "  two", "\nnow"}; !slices.Equal(got, want) {
		t.Errorf("pieces %q, want %q", got, want)
	}
}

func TestAnAnswerEndsWithUsageThenFinish(t *testing.T) {
	parts, err := read(t.Context(), scripted.Always(scripted.Think("hm").Say("ok").Call("c1", "look", `{"a":1}`)))
	if err != nil {
		t.Fatal(err)
	}
	n := len(parts)
	usage, ok := parts[n-2].(model.Usage)
	if !ok || usage.OutputTokens != n-2 || usage.InputTokens == 0 || usage.ReasoningTokens != 1 {
		t.Errorf("part before the last is %#v, want the usage of %d pieces", parts[n-2], n-2)
	}
	if fin, ok := parts[n-1].(model.Finish); !ok || fin.Reason != item.FinishToolCalls || fin.Model != "scripted" {
		t.Errorf("last part is %#v, want a finish for tool calls", parts[n-1])
	}
}

func TestUsageOfTheScriptReplacesTheCountedOne(t *testing.T) {
	m := scripted.Always(scripted.Say("a").Usage(item.Usage{InputTokens: 7}).Say("b").Usage(item.Usage{InputTokens: 7, OutputTokens: 2}))
	parts, _ := read(t.Context(), m)
	var last item.Usage
	n := 0
	for _, p := range parts {
		if u, ok := p.(model.Usage); ok {
			last, n = u.Usage, n+1
		}
	}
	if n != 2 || last != (item.Usage{InputTokens: 7, OutputTokens: 2}) {
		t.Errorf("%d usages, last %+v", n, last)
	}
}

func TestOnlyTheFirstPieceOfACallCarriesIDAndName(t *testing.T) {
	calls := []item.ToolCall{
		{CallID: "c1", Name: "weather", Arguments: `{"city":"Paris","unit":"celsius"}`},
		{CallID: "", Name: "time", Arguments: ``},
		{CallID: "c3", Name: "say", Arguments: `{"text":"\u4f60好"}`},
	}
	script := scripted.Parallel(calls...).Call("c4", "look", `{`)
	parts, err := read(t.Context(), scripted.Always(script))
	if err != nil {
		t.Fatal(err)
	}
	pieces := map[int][]model.ToolCall{}
	var order []int
	for _, p := range parts {
		if c, ok := p.(model.ToolCall); ok {
			pieces[c.Index] = append(pieces[c.Index], c)
			order = append(order, c.Index)
		}
	}
	want := append(calls, item.ToolCall{CallID: "c4", Name: "look", Arguments: `{`})
	for i, c := range want {
		got := pieces[i]
		if len(got) == 0 || got[0].ID != c.CallID || got[0].Name != c.Name {
			t.Fatalf("call %d begins with %+v, want id %q and name %q", i, got, c.CallID, c.Name)
		}
		args := got[0].Arguments
		for _, later := range got[1:] {
			if later.ID != "" || later.Name != "" {
				t.Errorf("later piece %+v repeats id or name", later)
			}
			if len(c.Arguments) > 5 && json.Valid([]byte(later.Arguments)) && later.Arguments == c.Arguments {
				t.Errorf("arguments of call %d come whole", i)
			}
			args += later.Arguments
		}
		if args != c.Arguments {
			t.Errorf("call %d has arguments %q, want %q", i, args, c.Arguments)
		}
	}
	if slices.IsSorted(order[:len(order)-2]) {
		t.Errorf("pieces of parallel calls are not interleaved: %v", order)
	}
	if got := script.Calls(); !slices.Equal(got, want) {
		t.Errorf("Calls() = %+v, want %+v", got, want)
	}
}

func TestTextAfterSomethingElseIsANewBlock(t *testing.T) {
	script := scripted.Say("a").Pause(0).Say("b").Call("c", "t", "{}").Say("d").Block().Say("e").
		Think("x", "y").Think("z").Sign("sig").Think("w")
	parts, _ := read(t.Context(), scripted.Always(script))
	var got []string
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			got = append(got, fmt.Sprintf("%s%d", p.Text, p.Block))
		case model.Reasoning:
			got = append(got, fmt.Sprintf("%s%s%d.%d", p.Text, p.Signature, p.Item, p.Block))
		}
	}
	want := []string{"a0", "b0", "d1", "e2", "x0.0", "y0.1", "z0.1", "sig0.1", "w1.0"}
	if !slices.Equal(got, want) {
		t.Errorf("blocks %v, want %v", got, want)
	}
	if block, call := script.Next(); block != 3 || call != 1 {
		t.Errorf("Next() = %d, %d, want 3, 1", block, call)
	}
}

func TestErrorsEndTheStreamWhereTheScriptSays(t *testing.T) {
	broken := &model.Error{Class: model.Overloaded, Provider: "acme", Status: 529, Message: "busy"}
	for _, want := range []error{broken, errors.New("socket closed")} {
		script := scripted.Words("half an").Fail(want).Say("never")
		parts, err := read(t.Context(), scripted.Always(script))
		if err != want {
			t.Errorf("error %v, want %v", err, want)
		}
		if got := strings.Join(texts(parts), ""); got != "half an" || script.Text() != got || len(parts) != 2 {
			t.Errorf("before the error came %v", parts)
		}
	}
}

func TestACutAnswerHasNeitherFinishNorError(t *testing.T) {
	parts, err := read(t.Context(), scripted.Always(scripted.Words("half an").Cut()))
	if err != nil || len(parts) != 2 {
		t.Errorf("got %v, %v, want two pieces and nothing more", parts, err)
	}
}

func TestAPanicReachesTheReader(t *testing.T) {
	defer func() {
		if got := recover(); got != "boom" {
			t.Errorf("recovered %v, want boom", got)
		}
	}()
	_, _ = read(t.Context(), scripted.Always(scripted.Say("x").Panic("boom")))
	t.Error("no panic")
}

func TestWaitsEndWithTheContext(t *testing.T) {
	for name, script := range map[string]func() scripted.Script{
		"stall": func() scripted.Script { return scripted.Say("a").Stall() },
		"wait":  func() scripted.Script { return scripted.Say("a").Wait(make(chan struct{})) },
		"pause": func() scripted.Script { return scripted.Say("a").Pause(time.Hour) },
		"pace":  func() scripted.Script { return scripted.Say("a").Every(time.Hour).Say("b") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // channels must be made inside
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				parts, err := read(ctx, scripted.Always(script()))
				if !errors.Is(err, context.DeadlineExceeded) || len(parts) != 1 || time.Since(began) != time.Minute {
					t.Errorf("after %v: %v, %v", time.Since(began), parts, err)
				}
			})
		})
	}
}

func TestCancellingEndsTheAnswerBetweenTwoPieces(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	script := scripted.Words("one two").Do(func(context.Context) error { cancel(); return nil }).Words(" three")
	parts, err := read(ctx, scripted.Always(script))
	if !errors.Is(err, context.Canceled) || len(parts) != 2 {
		t.Errorf("got %v, %v, want two pieces and the context's error", parts, err)
	}
}

func TestPaceDelaysEveryPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := read(t.Context(), scripted.Always(scripted.Every(50*time.Millisecond).Words("one two three"))); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(began), 5*50*time.Millisecond; got != want { // three words, usage, finish
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

func TestWaitGoesOnWhenTheChannelIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		script := scripted.Wait(gate).Say("open")
		done := make(chan []model.Part)
		go func() {
			parts, _ := read(t.Context(), scripted.Always(script))
			done <- parts
		}()
		synctest.Wait()
		close(gate)
		if got := strings.Join(texts(<-done), ""); got != "open" {
			t.Errorf("said %q", got)
		}
	})
}

func TestASequenceIsHandedOutOnce(t *testing.T) {
	const n = 50
	var scripts []scripted.Script
	for i := range n {
		scripts = append(scripts, scripted.Pieces(fmt.Sprint(i)))
	}
	m := scripted.Sequence(scripts...)
	m.Record = true
	var mu sync.Mutex
	var got []string
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			parts, err := read(t.Context(), m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			got = append(got, texts(parts)...)
		})
	}
	wg.Wait()
	slices.Sort(got)
	if len(slices.Compact(got)) != n {
		t.Errorf("scripts handed out: %v", got)
	}
	var failure *model.Error
	if _, err := read(t.Context(), m); !errors.As(err, &failure) || failure.Class != model.BadRequest {
		t.Errorf("call beyond the end: %v, want a bad request", err)
	}
	if m.Calls() != n+1 || len(m.Requests()) != n+1 {
		t.Errorf("%d calls, %d requests, want %d", m.Calls(), len(m.Requests()), n+1)
	}
}

func TestBreakingOutStopsTheScript(t *testing.T) {
	script := scripted.Words("one two").Do(func(context.Context) error {
		t.Error("the script went on after its reader had left")
		return nil
	})
	for range scripted.Always(script).Stream(t.Context(), model.Request{}) {
		break
	}
}

func TestScriptsThatShareABeginningDoNotDisturbEachOther(t *testing.T) {
	base := scripted.Say("a").Say("b").Say("c")
	x, y := base.Say("x"), base.Say("y")
	if x.Text() != "abcx" || y.Text() != "abcy" {
		t.Errorf("got %q and %q", x.Text(), y.Text())
	}
}

// The laws of package model, over random scripts.
func TestAnyScriptSaysTheSumOfItsPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var script scripted.Script
		var text, thoughts strings.Builder
		var calls []item.ToolCall
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			s := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("ab [^1]你好é👩‍🚀")), rapid.Rune())).Draw(t, "s")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				script = script.Say(s)
				text.WriteString(s)
			case 1:
				script = script.Words(s)
				text.WriteString(s)
			case 2:
				script = script.Think(s)
				thoughts.WriteString(s)
			case 3:
				script = script.Call("id", "name", s)
				calls = append(calls, item.ToolCall{CallID: "id", Name: "name", Arguments: s})
			case 4:
				script = script.Block()
			}
		}
		parts, err := read(context.Background(), scripted.Always(script))
		if err != nil {
			t.Fatal(err)
		}
		var said, thought strings.Builder
		args := map[int]string{}
		block := 0
		for i, p := range parts {
			switch p := p.(type) {
			case model.Text:
				if p.Block < block || !utf8.ValidString(p.Text) || p.Text == "" {
					t.Fatalf("piece %#v after block %d", p, block)
				}
				block = p.Block
				said.WriteString(p.Text)
			case model.Reasoning:
				thought.WriteString(p.Text)
			case model.ToolCall:
				args[p.Index] += p.Arguments
			case model.Finish:
				if i != len(parts)-1 {
					t.Fatalf("finish is part %d of %d", i+1, len(parts))
				}
			}
		}
		if said.String() != text.String() || script.Text() != text.String() || thought.String() != thoughts.String() {
			t.Fatalf("said %q and thought %q, want %q and %q", said.String(), thought.String(), text.String(), thoughts.String())
		}
		for i, c := range calls {
			if args[i] != c.Arguments {
				t.Fatalf("arguments %q, want %q", args[i], c.Arguments)
			}
		}
		if !slices.Equal(script.Calls(), calls) {
			t.Fatalf("Calls() = %v, want %v", script.Calls(), calls)
		}
		again, _ := read(context.Background(), scripted.Always(script))
		if !slices.Equal(parts, again) {
			t.Fatal("the second reading differs from the first")
		}
	})
}
