package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/run"
)

// killed is what a process leaves that was killed after it had created threads, each in a transaction of its own. After so many of
// them the log was moved into the file.
func killed(t *testing.T, threads, moved int) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range threads {
		if _, err := db.CreateThread(t.Context(), run.Identity{Owner: "x"}, run.Thread{ID: fmt.Sprint("thread-", i), CreatedAt: now()}); err != nil {
			t.Fatal(err)
		}
		if i+1 == moved {
			mover, err := connect(db.path, 1, "")
			if err != nil {
				t.Fatal(err)
			}
			reader, err := db.read.BeginTx(t.Context(), nil) // without it the log would begin anew
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Rollback() //nolint:errcheck // it only reads
			var n int
			if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM threads").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if _, err := mover.ExecContext(t.Context(), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
				t.Fatal(err)
			}
			defer mover.Close()
		}
	}
	image := map[string][]byte{}
	for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm"} {
		if image[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

func lay(t *testing.T, image map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range image {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// aftermath is what is there after a start, and what was told.
type aftermath struct {
	threads int
	told    int
	log     string
	check   []string
}

var lostInLog = regexp.MustCompile(`transactions=(\d+)`)

func restart(t *testing.T, dir string) aftermath {
	t.Helper()
	var log bytes.Buffer
	db, err := Open(t.Context(), dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	f := aftermath{log: log.String()}
	_, f.threads, err = db.SearchThreads(t.Context(), run.Identity{Owner: "x"}, run.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if f.check, err = db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.hear("")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// hear adds what was told earlier.
func (f *aftermath) hear(before string) {
	f.log = before + f.log
	if m := lostInLog.FindStringSubmatch(f.log); m != nil {
		f.told, _ = strconv.Atoi(m[1])
	}
}

// Twenty threads were acknowledged, the process was killed, and then bytes of the log flip. However many are lost by that, as many
// are told; and none if none is.
func TestDamagedLogIsTold(t *testing.T) {
	const threads = 20
	for _, moved := range []int{0, 7, 20} {
		image := killed(t, threads, moved)
		if f := restart(t, lay(t, image)); f.threads != threads || f.log != "" || len(f.check) > 0 {
			t.Fatalf("%d moved, nothing damaged: %+v", moved, f)
		}
		for _, index := range []bool{true, false} {
			lost := 0
			for n := range 8 {
				rng := rand.New(rand.NewPCG(uint64(n), uint64(moved)))
				damaged := map[string][]byte{fileName: image[fileName], fileName + "-wal": bytes.Clone(image[fileName+"-wal"])}
				if index {
					damaged[fileName+"-shm"] = image[fileName+"-shm"]
				}
				log := damaged[fileName+"-wal"]
				at := rng.IntN(len(log))
				log[at] ^= byte(1 + rng.IntN(255))
				dir := lay(t, damaged)
				what := fmt.Sprintf("%d moved, index %v, byte %d of %d", moved, index, at, len(log))
				looked := ""
				if n%2 == 0 { // somebody looks before the next start
					looked, _ = look(t, dir)
				}
				f := restart(t, dir)
				f.hear(looked)
				if missing := threads - f.threads; missing > f.told {
					t.Errorf("%s: %d threads are lost, and %d told: %s", what, missing, f.told, f.log)
				} else if missing > 0 {
					lost++
				}
				kept, _ := filepath.Glob(filepath.Join(dir, "*.damaged-*"))
				if f.told > 0 && (len(kept) != 1 || !told(f.check)) {
					t.Errorf("%s: %d are told, copies are %v, and the check finds %v", what, f.told, kept, f.check)
				}
				if index && (len(f.check) > 1 || f.told == 0 && len(f.check) > 0) {
					t.Errorf("%s: the file is inconsistent: %v", what, f.check)
				}
				if again := restart(t, dir); again.log != "" || again.threads != f.threads {
					t.Errorf("%s: the next start finds %+v after %+v", what, again, f)
				}
			}
			if want := 2; lost < want && moved < threads {
				t.Errorf("%d moved, index %v: threads were lost %d times; want %d for the test to say anything", moved, index, lost, want)
			}
			if index && moved == threads && lost > 0 {
				t.Errorf("all was moved, and threads were lost %d times", lost)
			}
		}
	}
}

// look opens the folder as those do who only read. It returns what the log was told, and the findings about write-ahead logs.
func look(t *testing.T, dir string) (string, []string) {
	t.Helper()
	var log bytes.Buffer
	db, err := Open(t.Context(), dir, Options{ReadOnly: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.lostLogs()
	if err != nil {
		t.Fatal(err)
	}
	return log.String(), found
}

func told(check []string) bool {
	for _, line := range check {
		if strings.HasPrefix(line, "log: ") && strings.Contains(line, "may be lost") {
			return true
		}
	}
	return false
}

// While a server works, its log is written to: nobody who looks on takes that for damage.
func TestLogOfAWorkingServerIsNotDamaged(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// So many writes beside each look: whoever looks reads all of the log, and a writer without bounds would make it longer and longer.
	const looks, writes = 50, 10
	begun, done := make(chan struct{}, looks), make(chan struct{})
	go func() {
		defer close(done)
		for range begun {
			for range writes {
				if _, err := db.CreateThread(context.Background(), run.Identity{Owner: "x"}, run.Thread{ID: uuid.NewString(), CreatedAt: now()}); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range looks {
		begun <- struct{}{}
		if log, found := look(t, dir); log != "" || len(found) > 0 {
			t.Errorf("%s, %v", log, found)
			break
		}
	}
	close(begun)
	<-done
}

// A log that cannot be copied is left as it is, and the message says what to do.
func TestDamagedLogIsNotMendedWithoutACopy(t *testing.T) {
	image := killed(t, 5, 0)
	log := image[fileName+"-wal"]
	log[len(log)/2] ^= 1
	dir := lay(t, image)
	name := filepath.Join(dir, fileName+"-wal")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 6 { // something is in the way of the copy
		at := info.ModTime().UTC().Format("20060102T150405Z")
		if err := os.Mkdir(fmt.Sprintf("%s.damaged-%s-lost-%d.new", name, at, n), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "see that the disk has space") {
		t.Errorf("opened: %v", err)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, log) {
		t.Errorf("the log was changed, %v", err)
	}
}
