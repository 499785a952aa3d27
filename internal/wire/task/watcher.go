package task

import (
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

// watcher is the Projector as one who is told what events bring about.
type watcher Projector

func (w *watcher) projector() *Projector { return (*Projector)(w) }

func (w *watcher) TaskBegan(t *transcript.Task, fresh bool) {
	if fresh {
		w.projector().created(t, "task.working")
	} else {
		w.projector().tell("task.working", t)
	}
}

func (w *watcher) TaskEnded(t *transcript.Task) {
	p := w.projector()
	p.begin("task."+life(t.Status), t)
	p.buf = appendEnd(p.buf, t)
	p.end()
}

func (w *watcher) ItemVoided(t *transcript.Task, it *transcript.Item, attempt int, cause string) {
	p := w.projector()
	p.beginIn("task.output_item.reset", t, it)
	p.buf = jsonline.AppendIntField(p.buf, "attempt", attempt)
	p.buf = jsonline.AppendOptField(p.buf, "cause", cause)
	p.end()
}

// ItemCut says that an item stays as it is. Fields are merged, so what it has grown by is not sent again.
func (w *watcher) ItemCut(t *transcript.Task, it *transcript.Item) {
	p := w.projector()
	p.beginItem("task.output_item.done", t, it)
	p.buf = append(appendHead(p.buf, it), '}')
	p.end()
}

func (w *watcher) BlockClosed(t *transcript.Task, it *transcript.Item, at int, b *item.Block) {
	w.projector().block(t, it, at, b, false, "done")
}
