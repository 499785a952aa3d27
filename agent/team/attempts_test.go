package team_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// What cannot be streamed is asked for whole, once; what broke in the middle is streamed anew.
func TestAStreamThatBreaksBeforeItsFirstTokenIsFollowedByOneCallForTheWhole(t *testing.T) {
	broken := &model.Error{Class: model.Broken, Provider: "test", Message: "the answer broke off"}
	for name, c := range map[string]struct {
		first            scripted.Script
		streamed, wholes int64
		resets           int
		whole            scripted.Script
		status           event.Status
	}{
		"broken before the first token": {scripted.Fail(broken), 1, 1, 0, scripted.Pieces("Hello world."), event.Success},
		"ended before the first token":  {scripted.Script{}.Cut(), 1, 1, 0, scripted.Pieces("Hello world."), event.Success},
		"no streaming at all": {scripted.Fail(&model.Error{Class: model.BadRequest, Provider: "test", Message: "this model does not support stream"}), 1, 1, 0,
			scripted.Pieces("Hello world."), event.Success},
		"broken after the first token": {scripted.Words("Hello wor").Fail(broken), 2, 0, 1, scripted.Script{}, event.Success},
		"busy before the first token":  {scripted.Fail(errBusy), 2, 0, 0, scripted.Script{}, event.Success},
		"the whole one fails too":      {scripted.Fail(broken), 2, 1, 0, scripted.Fail(broken), event.Success},
		"a wrong key is asked once":    {scripted.Fail(errKey), 1, 0, 0, scripted.Script{}, event.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var streamed, wholes atomic.Int64
			m := scripted.New(func(req model.Request) scripted.Script {
				switch {
				case who(req) != "ada":
					return scripted.Words("Fine.")
				case req.Whole:
					wholes.Add(1)
					return c.whole
				case streamed.Add(1) == 1:
					return c.first
				}
				return scripted.Words("Hello world.")
			})
			_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")})
			if err != nil {
				t.Fatal(err)
			}
			if streamed.Load() != c.streamed || wholes.Load() != c.wholes {
				t.Errorf("%d streamed calls and %d whole ones, want %d and %d", streamed.Load(), wholes.Load(), c.streamed, c.wholes)
			}
			if n := len(of(frames, "expert_result_chunk_reset")); n != c.resets {
				t.Errorf("%d resets, want %d", n, c.resets)
			}
			for _, r := range of(frames, "expert_result") {
				if r.Expert == "ada" && (r.Status != c.status || c.status == event.Success && *r.Content != "Hello world.") {
					t.Errorf("result %s %q", r.Status, *r.Content)
				}
			}
			if err := invariants(frames); err != nil {
				t.Error(err)
			}
		})
	}
}

// configError is of no class that anybody has heard of, as a provider's ConfigValidationError was to those who caught RuntimeError.
type configError struct{ field string }

func (e configError) Error() string { return "validation of " + e.field + " failed" }

// Seed 004, the third bug, from the model to the page: whatever an expert, the lead or a tool fails with, the page is told, with the text
// so far, and its cursor stands still.
func TestNoErrorOfAnyClassLeavesTheCursorBlinking(t *testing.T) {
	for name, fails := range map[string]scripted.Script{
		"an error of an unknown class": scripted.Words("I was about").Fail(configError{"temperature"}),
		"a joined error":               scripted.Words("I was about").Fail(errors.Join(configError{"a"}, configError{"b"})),
		"a panic":                      scripted.Words("I was about").Panic(configError{"panic"}),
		"a nil panic":                  scripted.Words("I was about").Panic(nil),
		"no end":                       scripted.Words("I was about").Cut(),
	} {
		for _, failing := range []string{"ada", "lead"} {
			t.Run(name+" of "+failing, func(t *testing.T) {
				m := scripted.New(func(req model.Request) scripted.Script {
					if who(req) == failing {
						return fails
					}
					return scripted.Words("Fine.")
				})
				_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")})
				if err != nil {
					t.Fatal(err)
				}
				if err := invariants(frames); err != nil {
					t.Error(err)
				}
				for _, r := range of(frames, "expert_result") {
					if r.Expert == failing && (r.Status != event.Failed || *r.Content != "I was about" || r.Error == nil) {
						t.Errorf("result %+v %q, want an error with what was said", r, *r.Content)
					}
				}
				if s := of(frames, "team_synthesis"); len(s) != 1 || failing == "lead" && !strings.Contains(*s[0].Content, "as they are") {
					t.Errorf("synthesis %+v", s)
				}
				if last := frames[len(frames)-1]; last.Type != "team_dissolved" || last.Outcome != event.Success {
					t.Errorf("last %+v", last)
				}
			})
		}
	}
}
