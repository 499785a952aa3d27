package middleware_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

const png = "\x89PNG\r\n\x1a\nand the rest"

func pictures(req model.Request) []string {
	var out []string
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if b.Type == item.ImageBlock {
				out = append(out, b.URL)
			}
		}
	}
	return out
}

func TestViewImagesShowsAPictureOnce(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("c1", "view_image", `{"image_path":"/mnt/user-data/uploads/a.png"}`).Call("c2", "view_image", `{"image_path":"/mnt/user-data/uploads/gone.png"}`),
		scripted.Call("c3", "say", `{"s":"x"}`),
		scripted.Say("A picture."), scripted.Say("ok"),
	)
	m.Record = true
	o := agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.ViewImages(middleware.ImageOptions{}))}
	th := newThread(t)
	th.put("uploads/a.png", png)
	msgs := th.say(o, "What is on it?")
	th.say(o, "Thank you.")
	for i, want := range []int{0, 1, 0, 0} {
		if got := pictures(m.Requests()[i]); len(got) != want || want == 1 && got[0] != "data:image/png;base64,iVBORw0KGgphbmQgdGhlIHJlc3Q=" {
			t.Errorf("request %d shows %q", i, got)
		}
	}
	if got := value(th, middleware.ViewedImagesField); len(got) != 1 || got["/mnt/user-data/uploads/a.png"] != (middleware.ViewedImage{MIME: "image/png", Size: len(png)}) {
		t.Errorf("the state keeps %+v", got)
	}
	if msgs[2].Failed || !msgs[3].Failed || strings.Contains(msgs[3].Text(), th.dir) {
		t.Errorf("results: %q", texts(msgs[2:4]))
	}
}

func TestViewImagesReadsPicturesOfTheFoldersOnly(t *testing.T) {
	th := newThread(t)
	th.put("trap.png", png)
	th.put("uploads/text.png", "not a picture")
	th.put("uploads/large.png", png+strings.Repeat("x", 2000))
	if err := os.Symlink(filepath.Join(th.dir, "trap.png"), filepath.Join(th.dir, "uploads/link.png")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/mnt/user-data/uploads/text.png", "/mnt/user-data/uploads/large.png", "/mnt/user-data/uploads/link.png", "/mnt/user-data/uploads", "/etc/passwd", "../../trap.png"} {
		m := scripted.Sequence(scripted.Call("", "view_image", `{"image_path":"`+path+`"}`), scripted.Say("ok"))
		m.Record = true
		msgs := th.say(agent.Options{Model: m, Middleware: chain(middleware.ViewImages(middleware.ImageOptions{Most: 1000}))}, path)
		if res := msgs[len(msgs)-2]; !res.Failed || strings.Contains(res.Text(), th.dir) || len(pictures(m.Requests()[1])) > 0 {
			t.Errorf("%s: %q", path, res.Text())
		}
	}
}

type blind struct{ *scripted.Model }

func (b blind) Describe() model.Info {
	info := b.Model.Describe()
	info.Vision = false
	return info
}

func TestViewImagesIsNotOfferedToModelsThatCannotSee(t *testing.T) {
	m := blind{scripted.Always(scripted.Say("ok"))}
	m.Record = true
	newThread(t).say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.ViewImages(middleware.ImageOptions{}))}, "go")
	if got := names(m.Requests()[0].Tools); !slices.Equal(got, []string{"say"}) {
		t.Errorf("offered %q", got)
	}
}
