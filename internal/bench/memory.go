package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// remembering measures what it costs a run that its agent remembers a thousand things: from the request to the first call of the model, by
// turns with and without.
func remembering(ctx context.Context, b *bench) (_ []row, err error) {
	var called atomic.Int64
	m := scripted.New(func(model.Request) scripted.Script {
		called.Store(time.Now().UnixNano())
		return scripted.Say("ok")
	})
	rt, err := tributary.Open(ctx, tributary.Options{Dir: filepath.Join(b.dir, uuid.NewString()), Models: tributary.OneModel(m), Memory: &tributary.Memory{}})
	if err != nil {
		return nil, err
	}
	defer rt.Close(ctx)
	const facts = 1000
	var d memory.Document
	for i := range facts {
		d.Facts = append(d.Facts, memory.Fact{Content: fmt.Sprintf("This is what is remembered under number %d: something that a person said of themselves, in a sentence", i), Confidence: 0.8})
	}
	if _, err := rt.Memory().Import(ctx, memory.Whose{Owner: "much"}, d); err != nil {
		return nil, err
	}
	starts := map[string]samples{}
	for range b.count(500) {
		for _, owner := range []string{"nothing", "much"} {
			begin := time.Now()
			if _, err := rt.Chat(ctx, tributary.Request{Owner: owner, Text: "hello"}); err != nil {
				return nil, err
			}
			starts[owner] = append(starts[owner], time.Duration(called.Load()-begin.UnixNano()))
		}
	}
	var changes samples
	for i := range b.count(200) {
		begin := time.Now()
		if _, _, err := rt.Memory().Add(ctx, memory.Whose{Owner: "much"}, memory.Fact{Content: fmt.Sprint("one more, ", i), Confidence: 1}); err != nil {
			return nil, err
		}
		changes = append(changes, time.Since(begin))
	}
	none, much := starts["nothing"], starts["much"]
	more := much.at(0.5) - none.at(0.5)
	return []row{
		{"from a request to its model, with nothing remembered", none.String(), "", "–"},
		{fmt.Sprintf("the same with %d facts", facts), much.String() + fmt.Sprintf("; %s more at p50", short(more)), "", atMost(more.Seconds(), 0.005, "5 ms more")},
		{fmt.Sprintf("remembering one more of %d facts", facts), changes.String(), "", "–"},
	}, nil
}
