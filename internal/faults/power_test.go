package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/tributary-ai/tributary/internal/faults"
)

// outage is a machine whose power can be cut: its disk, and the name of its boot.
type outage struct {
	image, dir string
	boot       string // file with the name
	mounted    bool
}

// newOutage makes a file system in a file. It needs root.
func newOutage(t *testing.T) *outage {
	t.Helper()
	o := &outage{image: filepath.Join(t.TempDir(), "image"), dir: t.TempDir(), boot: filepath.Join(t.TempDir(), "boot_id")}
	f, err := os.Create(o.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(256<<20), f.Close(), o.newBoot()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", o.image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = o.unmount() })
	if err := o.mount(); err != nil {
		t.Skip(err)
	}
	return o
}

func (o *outage) newBoot() error {
	return os.WriteFile(o.boot, []byte(uuid(rand.New(rand.NewPCG(rand.Uint64(), 0)))+"\n"), 0o600)
}

// on starts a program on the machine: for it the kernel's name of the boot is the machine's.
func (o *outage) on(p program) program {
	const script = `mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`
	p.args = append([]string{"--mount", "sh", "-c", script, o.boot, p.path}, p.args...)
	p.path = "unshare"
	return p
}

func (o *outage) mount() error {
	out, err := exec.Command("mount", "-o", "loop", o.image, o.dir).CombinedOutput()
	if err != nil {
		return errors.New("mount: " + string(out))
	}
	o.mounted = true
	return nil
}

func (o *outage) unmount() error {
	if !o.mounted {
		return nil
	}
	o.mounted = false
	out, err := exec.Command("umount", o.dir).CombinedOutput()
	if err != nil {
		return errors.New("umount: " + string(out))
	}
	return nil
}

// cut drops everything that was not synced: the file system goes down at once, without writing out its journal or its pages.
// The machine that starts next is booted anew.
func (o *outage) cut() error {
	const shutdown, noLogFlush = 0x8004587d, 2
	d, err := os.Open(o.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	flags := uint32(noLogFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, d.Fd(), shutdown, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		return errno
	}
	return o.newBoot()
}

// TestSoakPowerCut cuts the power of the disk in the middle of runs, twenty times. What was promised must be there afterwards: every run
// whose creation was answered, every end that a reader was told, every effect at most once. Tokens may be lost, and then a reader
// is told so; it never gets other events under the same ids.
func TestSoakPowerCut(t *testing.T) {
	soak(t)
	for _, mode := range []string{"process", "disk"} {
		t.Run(mode, func(t *testing.T) {
			disk := newOutage(t)
			w := &world{t: t, seed: seedOf(t), data: filepath.Join(disk.dir, "data"), provider: startProvider(t), lenient: true}
			var args []string
			if mode == "disk" {
				args = []string{"-disk"}
			}
			w.host = newHost(t, disk.on(mortal(t, w.data, w.provider.URL(), args...)))
			t.Cleanup(w.host.kill) // before the disk goes
			rng := rand.New(rand.NewPCG(w.seed, 6))
			found := map[string]int{}
			for range 10 {
				w.host.mustStart(t)
				w.powerCut(t, disk, rng, found)
			}
			t.Logf("%v", found)
			for what, n := range found {
				switch word, _, _ := strings.Cut(what, ":"); {
				case word == same, word == told && mode == "process": // tokens may go with the power, if readers are told
				default:
					t.Errorf("%d readers found that %s", n, what)
				}
			}
		})
	}
}

// What a reader may find after the power was cut.
const (
	same    = "nothing changed"
	told    = "their place is lost, and were told so"
	changed = "events have changed under the same ids"
	mute    = "the run cannot be read"
)

// witness is what one run's reader had seen when the power went.
type witness struct {
	run, thread string
	dialect     faults.Dialect
	reading     faults.Reading
	ended       bool
}

// powerCut runs a few runs, cuts the power, restarts, and compares. It counts in found what readers find.
func (w *world) powerCut(t *testing.T, disk *outage, rng *rand.Rand, found map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	during, dark := context.WithCancel(ctx)
	var mu sync.Mutex
	var seen []*witness
	var wg sync.WaitGroup
	w.drives++
	for i := range 30 {
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		wg.Add(1)
		go func() {
			defer wg.Done()
			wait(during, time.Duration(own.IntN(1500))*time.Millisecond)
			e := &witness{thread: uuid(own), dialect: []faults.Dialect{faults.TaskSSE, faults.LangGraph}[i%2]}
			var err error
			e.run, err = w.createRun(during, e.thread, faults.Order{Key: "p" + e.thread[:8], Words: 40, GapMS: 10, Effect: true}, "")
			if err != nil {
				return // nobody was promised anything
			}
			mu.Lock()
			seen = append(seen, e)
			mu.Unlock()
			rd := &reader{host: w.host, dialect: e.dialect, who: "reader", thread: e.thread, run: e.run}
			for during.Err() == nil && !e.ended {
				e.ended, _ = rd.connection(during) // it breaks when the power goes
				e.reading = rd.got
				wait(during, 10*time.Millisecond)
			}
		}()
	}
	wait(ctx, 500*time.Millisecond+time.Duration(rng.IntN(1500))*time.Millisecond)
	if err := disk.cut(); err != nil {
		t.Fatalf("cut: %v", err)
	}
	// Whoever is told something from now on is told by a process that does not know yet.
	w.host.kill()
	dark()
	wg.Wait()
	if err := errors.Join(disk.unmount(), disk.mount()); err != nil {
		t.Fatal(err)
	}
	w.host.mustStart(t)
	ended := 0
	for _, e := range seen {
		code, body, _, err := w.host.call(ctx, "GET", "/tasks/"+e.run, "")
		if err != nil || code != 200 {
			t.Errorf("run %s was accepted and is now %d %v %s", e.run, code, err, body)
			continue
		}
		var o struct{ Status string }
		if json.Unmarshal(body, &o); e.ended && o.Status != "completed" {
			t.Errorf("run %s had ended and is now %s", e.run, o.Status)
		}
		if e.ended {
			ended++
		}
		found[fmt.Sprintf("%s: %s", w.agrees(ctx, t, e), e.dialect)]++
	}
	w.allEnded(ctx)
	t.Logf("%d runs were accepted, %d of them had ended", len(seen), ended)
	if err := w.host.stop(15 * time.Second); err != nil {
		t.Error(err)
	}
}

// agrees reads on after what a reader had seen. The answer may be that this place is lost, but not other events under the same ids.
func (w *world) agrees(ctx context.Context, t *testing.T, e *witness) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	rd := &reader{host: w.host, dialect: e.dialect, who: "reader", thread: e.thread, run: e.run}
	rd.got = faults.Reading{Frames: append([]faults.Frame(nil), e.reading.Frames...)}
	rd.terminal = e.ended && e.dialect != faults.LangGraph
	for {
		done, err := rd.connection(ctx)
		if errors.Is(err, errLost) {
			return told
		}
		if done {
			break
		}
		if !wait(ctx, 20*time.Millisecond) {
			return mute
		}
	}
	late := &reader{host: w.host, dialect: e.dialect, who: "late reader", thread: e.thread, run: e.run}
	whole, err := late.read(ctx)
	if err != nil {
		return mute
	}
	for i, f := range rd.got.Frames {
		if i >= len(whole.Frames) || string(f.Data) != string(whole.Frames[i].Data) {
			t.Logf("%s event %s of run %s changed with the power: %s", e.dialect, f.ID, e.run, difference(f.Data, frameAt(whole.Frames, i)))
			return changed
		}
	}
	return same
}

func frameAt(frames []faults.Frame, i int) []byte {
	if i < len(frames) {
		return frames[i].Data
	}
	return nil
}
