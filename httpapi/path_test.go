package httpapi_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool/files/filestest"
)

const trapText = "do not read me"

// ground is a server with everything that keeps files, in a folder with a trap.
type ground struct {
	*world
	outer string   // a folder around, with the agents in it
	traps []string // files that must stay as they are
}

func newGround(t *testing.T) ground {
	t.Helper()
	g := ground{outer: t.TempDir()}
	agents := custom.New(g.outer)
	g.world = serve(t, tributary.Options{Files: true, Models: tributary.OneModel(scripted.Always(scripted.Words("Yes.")))}, httpapi.Options{Agents: agents})
	if _, err := agents.Create(tributary.DefaultOwner, custom.Agent{Name: "writer"}); err != nil {
		t.Fatal(err)
	}
	g.upload("a", "a")
	for _, dir := range []string{g.outer, g.dir, filepath.Dir(filepath.Dir(g.folder("outputs")))} {
		trap := filepath.Join(dir, "trap.txt")
		if err := os.WriteFile(trap, []byte(trapText), 0o600); err != nil {
			t.Fatal(err)
		}
		g.traps = append(g.traps, trap)
	}
	return g
}

// folder is one of the thread's, as it lies on the disk.
func (g ground) folder(area string) (found string) {
	g.Helper()
	err := filepath.WalkDir(g.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == area {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		g.Fatalf("there is no folder %s: %v", area, err)
	}
	return found
}

// raw makes a request with a path as it is written.
func (g ground) raw(client *http.Client, method, path, body, kind string) {
	g.request(client, method, path, body, kind, false)
}

// request is raw for a folder that changes meanwhile: what the server makes of that is its own affair, as long as the trap is safe.
func (g ground) request(client *http.Client, method, path, body, kind string, swapping bool) {
	g.Helper()
	req, err := http.NewRequestWithContext(g.Context(), method, g.server.URL, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	req.URL.Opaque = "//" + req.URL.Host + path
	req.Header.Set("Content-Type", kind)
	res, err := client.Transport.RoundTrip(req)
	if err != nil {
		return // not even a request
	}
	said, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if strings.Contains(string(said), trapText) {
		g.Errorf("%s %q reads the trap", method, path)
	}
	if res.StatusCode >= 500 && !swapping {
		g.Errorf("%s %q is answered with %s: %.100s", method, path, res.Status, said)
	}
}

// intact checks that all traps hold what they held.
func (g ground) intact(after string) {
	g.Helper()
	for _, trap := range g.traps {
		if got, err := os.ReadFile(trap); err != nil || string(got) != trapText {
			g.Fatalf("after %q %s holds %q, %v", after, trap, got, err)
		}
	}
}

// files are all that there are.
func (g ground) files() (files []string) {
	g.Helper()
	for _, dir := range []string{g.outer, g.dir} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			g.Fatal(err)
		}
	}
	return files
}

// Every path that wants to get out, through every route that takes a path, a name or an id: as it is written, and encoded.
func TestNoPathLeadsOutThroughARoute(t *testing.T) {
	g := newGround(t)
	outputs := g.folder("outputs")
	for name, to := range map[string]string{
		"file": "../../trap.txt", "dir": "../..", "absolute": filepath.Join(g.outer, "trap.txt"), "root": "/", "twice": "dir", "up": "..", "given": "../uploads", "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(outputs, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := g.files()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const json_ = "application/json"
	thread := "/threads/" + folderThread
	paths := filestest.Paths(g.outer)
	for _, p := range paths {
		for _, at := range []string{p, url.PathEscape(p)} {
			for _, artifact := range []string{"/artifacts/" + at, "/artifacts/mnt/user-data/" + at, "/artifacts/mnt/user-data/outputs/" + at} {
				g.raw(client, "GET", thread+artifact, "", json_)
				g.raw(client, "PUT", thread+artifact, `{"content":"gone","expected_sha256":""}`, json_)
			}
			g.raw(client, "DELETE", thread+"/uploads/"+at, "", json_)
			g.raw(client, "GET", "/threads/"+at+"/uploads/list", "", json_)
			g.raw(client, "GET", "/threads/"+at+"/artifacts/mnt/user-data/outputs/trap.txt", "", json_)
			g.raw(client, "GET", "/agents/"+at, "", json_)
			g.raw(client, "PUT", "/agents/"+at, `{"soul":"gone"}`, json_)
			g.raw(client, "DELETE", "/agents/"+at, "", json_)
		}
		body, kind := form(t, p, "gone")
		g.raw(client, "POST", thread+"/uploads", body, kind)
		g.raw(client, "POST", "/threads/"+url.PathEscape(p)+"/uploads", body, kind)
		named, err := json.Marshal(map[string]string{"name": p, "soul": "gone"})
		if err != nil {
			t.Fatal(err)
		}
		g.raw(client, "POST", "/agents", string(named), json_)
		g.intact(p)
	}
	uploads := g.folder("uploads")
	for _, path := range g.files() {
		// What was made under a name that is one is where such things are kept: an upload in some thread, an agent, a version of an artifact.
		inside := filepath.Dir(path) == uploads || strings.HasPrefix(path, filepath.Join(g.dir, "threads")+"/") && strings.Contains(path, "/.versions/") || strings.HasPrefix(path, outputs+"/") || strings.HasPrefix(path, filepath.Join(g.outer, "agents")+"/") ||
			filepath.Base(filepath.Dir(path)) == "uploads" && strings.HasPrefix(path, filepath.Join(g.dir, "threads")+"/")
		if !slices.Contains(before, path) && !inside && !strings.HasPrefix(filepath.Base(path), "tributary.db") {
			t.Errorf("there is a new file %s", path)
		}
	}
	t.Logf("%d paths", len(paths))
}

// The folder on the way is now a folder, now a link to where the trap is.
func TestALinkThatIsSwappedInIsNotFollowedByARoute(t *testing.T) {
	g := newGround(t)
	outputs := g.folder("outputs")
	place := func(name string) string { return filepath.Join(outputs, name) }
	if err := os.Mkdir(place("at"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../..", place("link")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swaps := 0
	swapping.Go(func() {
		for ; ; swaps++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, move := range [][2]string{{"at", "real"}, {"link", "at"}, {"at", "link"}, {"real", "at"}} {
				if os.Rename(place(move[0]), place(move[1])) != nil { // a write that found nothing there has made the folder
					_ = os.RemoveAll(place(move[1]))
					_ = os.Rename(place(move[0]), place(move[1]))
				}
			}
		}
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	at := "/threads/" + folderThread + "/artifacts/mnt/user-data/outputs/at/trap.txt"
	for range 200 {
		g.request(client, "PUT", at, `{"content":"gone","expected_sha256":""}`, "application/json", true)
		g.request(client, "GET", at, "", "application/json", true)
		g.request(client, "GET", "/threads/"+folderThread+"/artifacts?format=zip", "", "application/json", true)
	}
	close(stop)
	swapping.Wait()
	t.Logf("%d swaps", swaps)
	g.intact("the swaps")
}
