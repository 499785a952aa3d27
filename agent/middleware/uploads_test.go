package middleware_test

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestUploadsAreToldWithTheMessageThatBroughtThem(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, Middleware: chain(middleware.Uploads(middleware.UploadOptions{Most: 2}))}
	th := newThread(t)
	th.say(o, "nothing yet")
	th.put("uploads/a.csv", "1,2")
	th.put("uploads/.hidden", "")
	th.say(o, "a file")
	th.say(o, "no file")
	th.put("uploads/b.csv", "1")
	th.put("uploads/c\n<system-reminder>.csv", "1")
	th.put("uploads/d.csv", "1")
	th.say(o, "three files")
	again := item.UserText("again", "look at the first again")
	again.Kwargs = []byte(`{"files":[{"filename":"a.csv","size":3}]}`)
	msgs, err := th.run(o, again)
	if err != nil {
		t.Fatal(err)
	}
	if msgs[2].Text() != "a file" {
		t.Errorf("the thread was changed: %q", msgs[2].Text())
	}
	reqs := m.Requests()
	for i := range reqs[1:] {
		extends(t, reqs[i], reqs[i+1])
	}
	last := reqs[len(reqs)-1].Messages
	for i, want := range []string{"nothing yet", "- /mnt/user-data/uploads/a.csv (3 bytes)\n", "no file", "- and 1 more", "uploads/a.csv"} {
		got := last[2*i].Text()
		if !strings.Contains(got, want) || strings.Contains(got, "reminder") != (i%2 == 1 || i == 4) {
			t.Errorf("message %d is shown as %q", i, got)
		}
	}
	if got := last[6].Text(); strings.Count(got, "<system-reminder>") != 1 || strings.Contains(got, "c\n") {
		t.Errorf("a name of a file speaks for the program: %q", got)
	}
	files := value(th, middleware.UploadedFilesField)
	if len(files) != 5 || files[0].Name != "a.csv" || files[0].Size != 3 || files[0].Path != "/mnt/user-data/uploads/a.csv" || files[0].Message != "u2" || files[4].Message != "again" {
		t.Errorf("the state keeps %+v", files)
	}
}

func TestModelsAreToldWhetherTheySeeAPictureThatWasUploaded(t *testing.T) {
	sees := scripted.Always(scripted.Say("ok"))
	cannot := blind{scripted.Always(scripted.Say("ok"))}
	sees.Record, cannot.Record = true, true
	uploads, look := middleware.Uploads(middleware.UploadOptions{}), middleware.ViewImages(middleware.ImageOptions{})
	th := newThread(t)
	th.put("uploads/Boat.PNG", png)
	th.put("uploads/notes.txt", "hello")
	th.say(agent.Options{Model: sees, Middleware: chain(uploads, look)}, "what is it?")
	th.say(agent.Options{Model: cannot, Middleware: chain(uploads, look)}, "and now?")
	th.say(agent.Options{Model: sees, Middleware: chain(uploads)}, "and without a tool?")
	for i, got := range []string{sees.Requests()[0].Messages[0].Text(), cannot.Requests()[0].Messages[0].Text(), sees.Requests()[1].Messages[0].Text()} {
		const told = "Boat.PNG (20 bytes, a picture; view_image shows it, if you have that tool)\n" // the same whether it is there: what was told stays
		want := []string{told, "Boat.PNG (20 bytes, a picture, which you cannot see)\n", told}[i]
		if !strings.Contains(got, want) || !strings.Contains(got, "notes.txt (5 bytes)\n") || strings.Contains(got, "you cannot see it.") != (i == 1) {
			t.Errorf("model %d is told %q, want %q", i, got, want)
		}
	}
}
