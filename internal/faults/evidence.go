package faults

import (
	"fmt"
	"time"
)

// Dialect is the wire that a reader used.
type Dialect string

const (
	TaskSSE    Dialect = "task"
	TaskSocket Dialect = "task socket"
	// LangGraph is a join with the modes messages-tuple, values and custom.
	LangGraph Dialect = "langgraph"
)

// Frame is one event as a reader got it.
type Frame struct {
	Name string
	ID   string
	Data []byte
	At   time.Time // when it came; the oracle does not look at it
}

// Reading is all that one reader got of a run, over as many connections as it needed.
type Reading struct {
	Who     string // for messages
	Dialect Dialect
	Frames  []Frame
	// Cuts are the numbers of frames before which a new connection began.
	Cuts []int
	// Ended says that the server told the reader that there is no more, in the way of the dialect.
	Ended bool
}

// Case is the evidence about one run.
type Case struct {
	Run   string
	Order Order
	// Readings are those of all readers; at least one of each dialect must have come late, after the run's end.
	Readings []Reading
	// Object is what GET /tasks/{id} answered at the end.
	Object []byte
	// Effects are the calls on behalf of which the tool had its effect, one entry for each time.
	Effects []string
	// Failed says that the run is to end with an error; its code is WantCode.
	Failed   bool
	WantCode string
	// AnyUsage leaves the usage alone: voided calls of some providers have a known cost.
	AnyUsage bool
}

// Law is what the oracle holds runs to.
type Law string

const (
	Repeated   Law = "an event came twice"
	Lost       Law = "an event is missing"
	Swapped    Law = "events came out of order"
	Changed    Law = "an event changed afterwards"
	Mixed      Law = "text is mixed"
	WrongText  Law = "the text is not what the provider said"
	Untold     Law = "a void message was not said to be void"
	Endless    Law = "the run does not end"
	AfterEnd   Law = "something came after the end"
	WrongEnd   Law = "the run ended otherwise than it should"
	Miscounted Law = "usage is not counted once"
	Doubled    Law = "an effect was had twice"
	NoEffect   Law = "an effect was reported and not had"
	Unreadable Law = "a frame cannot be understood"
	Unwatched  Law = "nobody looked"
)

// Violation is a law that was broken.
type Violation struct {
	Law    Law
	Run    string
	Who    string
	Detail string
}

func (v Violation) String() string {
	return fmt.Sprintf("run %s, %s: %s: %s", v.Run, v.Who, v.Law, v.Detail)
}

// judge collects what is wrong with a case.
type judge struct {
	c     *Case
	who   string
	found []Violation
}

func (j *judge) blame(law Law, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if len(detail) > 600 {
		detail = detail[:600] + "…"
	}
	j.found = append(j.found, Violation{law, j.c.Run, j.who, detail})
}

// Check returns the laws that were broken in a case; none if all is well.
func Check(c Case) []Violation {
	j := &judge{c: &c}
	told := map[Dialect]*story{} // what each wire tells
	for i := range c.Readings {
		r := &c.Readings[i]
		j.who = r.Who
		var s *story
		switch r.Dialect {
		case TaskSSE, TaskSocket:
			j.taskIDs(r.Frames)
			s = j.foldTask(r.Frames)
		case LangGraph:
			j.langgraphIDs(r.Frames)
			s = j.foldLangGraph(r.Frames)
		}
		if !r.Ended {
			j.blame(Endless, "the stream stopped after %d frames", len(r.Frames))
		}
		j.story(s)
		told[r.Dialect] = s
	}
	if len(c.Readings) == 0 {
		j.blame(Unwatched, "the case has no readings")
	}
	j.compare()
	j.who = "the object"
	j.object()
	j.who = "the tool"
	j.effects(told)
	return j.found
}

// compare holds the readings of a dialect against each other. Events of the two task wires are the same.
func (j *judge) compare() {
	first := map[Dialect]*Reading{}
	for i := range j.c.Readings {
		r := &j.c.Readings[i]
		d := r.Dialect
		if d == TaskSocket {
			d = TaskSSE
		}
		ref := first[d]
		if ref == nil {
			first[d] = r
			continue
		}
		j.who = r.Who + " beside " + ref.Who
		j.same(ref, r)
	}
}

func (j *judge) same(a, b *Reading) {
	had := map[string]*Frame{}
	for i := range a.Frames {
		had[a.Frames[i].ID] = &a.Frames[i]
	}
	seen := map[string]bool{}
	for i := range b.Frames {
		f := &b.Frames[i]
		seen[f.ID] = true
		switch g := had[f.ID]; {
		case g == nil:
			j.blame(Lost, "%s does not have event %s", a.Who, f.ID)
		case string(g.Data) != string(f.Data) || g.Name != f.Name && b.Dialect != TaskSocket:
			j.blame(Changed, "event %s was %s %s and is %s %s", f.ID, g.Name, g.Data, f.Name, f.Data)
		}
	}
	for i := range a.Frames {
		if id := a.Frames[i].ID; !seen[id] {
			j.blame(Lost, "%s does not have event %s", b.Who, id)
		}
	}
}

// effects makes sure that each call had its effect at most once, and that an effect that was told of was had.
func (j *judge) effects(told map[Dialect]*story) {
	times := map[string]int{}
	for _, call := range j.c.Effects {
		times[call]++
		if times[call] == 2 {
			j.blame(Doubled, "call %s", call)
		}
	}
	for d, s := range told {
		for call, result := range s.results {
			if result == effectResult && times[call] == 0 {
				j.blame(NoEffect, "%s tells that call %s was done", d, call)
			}
		}
	}
}

// effectResult is what the tool "effect" answers.
const effectResult = "done"
