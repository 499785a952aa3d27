package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/checkup"
)

var update = flag.Bool("update", false, "rewrite golden files")

// lived is a data folder that has been worked on, with rights as the server itself gives them.
func lived(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s := serveOn(t, dir)
	if code, _, notes := invoke(t, "--data", dir, "chat", "count to two"); code != 0 {
		t.Fatal(notes)
	}
	if code := s.stop(); code != 0 {
		t.Fatal(s.log)
	}
	return dir
}

// twin is a copy of a folder that nobody works on, with its rights.
func twin(t *testing.T, of string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	err := filepath.WalkDir(of, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, of))
		if d.IsDir() {
			return os.Mkdir(to, info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// doctor runs the command on a port that is free.
func doctor(t *testing.T, dir, settings string) (code int, found []checkup.Finding, out string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("addr: 127.0.0.1:0\n"+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, notes := invoke(t, "--config", config, "--data", dir, "doctor", "--json")
	var answer struct {
		OK       bool
		Findings []checkup.Finding
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("exit %d, %s, %s: %v", code, out, notes, err)
	}
	if answer.OK != (code == 0) {
		t.Errorf("exit %d, and ok is %v", code, answer.OK)
	}
	for _, f := range answer.Findings {
		if f.State != checkup.OK && (f.Do == "" || strings.Contains(f.Do, "report this")) {
			t.Errorf("%+v does not say what to do", f)
		}
	}
	return code, answer.Findings, out
}

func TestHealthyFolderIsWell(t *testing.T) {
	dir := lived(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("addr: 127.0.0.1:0\nsandbox: off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, notes := invoke(t, "--config", config, "--data", dir, "doctor")
	if code != 0 || notes != "all is well\n" {
		t.Errorf("exit %d, %s", code, notes)
	}
	for pattern, with := range map[string]string{
		regexp.QuoteMeta(dir):        "DATA",
		`\d+ MB are free`:            "N MB are free",
		`\d{4}-\d\d-\d\d`:            "DATE",
		`schema version \d+`:         "schema version N",
		`\d+ files may be`:           "N files may be",
		`the control group allows.*`: "no limit is set for this process",
	} {
		out = regexp.MustCompile(pattern).ReplaceAllString(out, with)
	}
	golden := filepath.Join("testdata", "doctor.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || out != string(want) {
		t.Errorf("got\n%s\nwant\n%s, %v", out, want, err)
	}
}

// A folder that does not exist yet is in order: the first start makes it.
func TestDoctorBeforeTheFirstStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none", "yet")
	code, _, out := doctor(t, dir, "")
	if code != 0 || strings.Count(out, notYet) < 4 {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the doctor made the folder")
	}
}

// Each sort of damage, done to a real folder, is found by the check that is about it, and by no other.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := func(dir string, name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	sound := lived(t)
	for name, c := range map[string]struct {
		spoil    func(dir string) error
		settings string
		check    string
		state    checkup.State
		says, do string
	}{
		"database cut": {func(dir string) error { return os.Truncate(at(dir, "tributary.db"), 5*4096) }, "", "database", checkup.Wrong, "", "restore"},
		"database is text": {func(dir string) error {
			return os.WriteFile(at(dir, "tributary.db"), bytes.Repeat([]byte("words "), 5000), 0o600)
		}, "", "database", checkup.Wrong, "not a database", "restore"},
		"database of a page": {func(dir string) error { return flipPages(at(dir, "tributary.db")) }, "", "database", checkup.Wrong, "", "restore"},
		"newer database":     {func(dir string) error { return poke(at(dir, "tributary.db"), 63, 99) }, "", "database", checkup.Wrong, "version 99", "newer tributary"},
		"older database":     {func(dir string) error { return poke(at(dir, "tributary.db"), 63, 1) }, "", "database", checkup.Warning, "version 1", "backup"},
		"log was damaged": {func(dir string) error {
			return os.WriteFile(at(dir, "tributary.db-wal.damaged-20260101T000000Z-lost-11"), nil, 0o600)
		}, "", "database", checkup.Wrong, "up to 11 transactions may be lost", "tributary check"},
		"search index":       {func(dir string) error { return os.WriteFile(at(dir, "search.db"), []byte("words"), 0o600) }, "", "documents", checkup.Warning, "damaged", "built anew"},
		"no such documents":  {func(dir string) error { return nil }, "docs: [/no/such/folder]\n", "documents", checkup.Wrong, "/no/such/folder", "readable"},
		"empty secret":       {func(dir string) error { return os.Truncate(at(dir, secretFile), 0) }, "", "webhooks", checkup.Warning, "holds nothing", "make a new one"},
		"short secret":       {func(dir string) error { return os.Truncate(at(dir, secretFile), 4) }, "", "webhooks", checkup.Wrong, "4 characters", "put the whole secret back"},
		"folder is a file":   {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "", "folder", checkup.Wrong, "not a folder", "--data"},
		"folder is open":     {func(dir string) error { return os.Chmod(dir, 0o755) }, "", "rights", checkup.Warning, "may look into", "chmod go-rwx"},
		"port is taken":      {func(string) error { return nil }, "addr: " + taken.Addr().String(), "port", checkup.Wrong, "taken", "--addr"},
		"open to the world":  {func(string) error { return nil }, "addr: 0.0.0.0:0", "port", checkup.Wrong, "other machines", "TRIBUTARY_API_KEY"},
		"a model has no key": {func(string) error { return nil }, "models:\n- {name: a, provider: openai, model: gpt-5, api_key_env: NO_SUCH_KEY}\n- {name: b, provider: offline, model: offline}\n", "models", checkup.Warning, "NO_SUCH_KEY", "set what is missing"},
		"no model has a key": {func(string) error { return nil }, "models:\n- {name: a, provider: openai, model: gpt-5, api_key_env: NO_SUCH_KEY}\n", "models", checkup.Wrong, "no model", "set a key"},
		"a restore was cut":  {func(dir string) error { return os.WriteFile(at(dir, "restoring"), []byte("before-restore-1\n"), 0o600) }, "", "folder", checkup.Wrong, "restore", "restore"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := twin(t, sound)
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			settings := c.settings
			if strings.HasPrefix(settings, "addr") { // in place of the free one
				settings = "# " + settings
			}
			code, found, out := doctor(t, dir, settings)
			if strings.HasPrefix(c.settings, "addr") {
				_, addr, _ := strings.Cut(c.settings, ": ")
				t.Setenv("TRIBUTARY_ADDR", addr)
				found = lookWith(t, dir, addr)
				code = min(checkup.Count(found, checkup.Wrong), 1)
			}
			seen := false
			for _, f := range found {
				switch {
				case f.Check == c.check && f.State == c.state && strings.Contains(f.Says, c.says) && strings.Contains(f.Do, c.do):
					seen = true
				case f.State != checkup.OK && f.Check != c.check && c.check != "folder":
					t.Errorf("%+v is about something else", f)
				}
			}
			if c.check != "" && !seen || (code == 1) != (c.state == checkup.Wrong) {
				t.Errorf("exit %d, %s", code, out)
			}
		})
	}
}

// lookWith makes the checks with an address.
func lookWith(t *testing.T, dir, addr string) []checkup.Finding {
	t.Helper()
	config, err := loadConfig("", dir)
	if err != nil {
		t.Fatal(err)
	}
	config.Addr = addr
	return checkup.Make(t.Context(), checks(config))
}

func poke(path string, at int64, b byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{b}, at)
	return errors.Join(err, f.Close())
}

// flipPages spoils the beginning of every page but the first.
func flipPages(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for at := int64(4096); at < info.Size(); at += 4096 {
		if err := poke(path, at, 0xee); err != nil {
			return err
		}
	}
	return nil
}

func TestDiskThatIsFull(t *testing.T) {
	config := Config{Data: filepath.Join(t.TempDir(), "not", "yet")}
	for name, c := range map[string]struct {
		bytes, inodes uint64
		err           error
		state         checkup.State
	}{
		"enough": {2 << 30, 1000, nil, checkup.OK}, "little": {500 << 20, 1000, nil, checkup.Warning}, "full": {1 << 20, 1000, nil, checkup.Wrong},
		"no more files": {2 << 30, 3, nil, checkup.Wrong}, "unknown": {0, 0, errors.New("no"), checkup.Warning},
	} {
		found := lookAtDisk(config, func(dir string) (uint64, uint64, error) {
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("asked about %s: %v", dir, err)
			}
			return c.bytes, c.inodes, c.err
		})
		if len(found) != 1 || found[0].State != c.state {
			t.Errorf("%s: %+v, want %s", name, found, c.state)
		}
	}
}

// A clock that is behind what was written is told.
func TestClockThatWasSetBack(t *testing.T) {
	dir := lived(t)
	config, err := loadConfig("", dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, c := range map[string]struct {
		at    time.Time
		state checkup.State
	}{
		"right": {now, checkup.OK}, "a little behind": {now.Add(-20 * time.Second), checkup.OK}, "an hour behind": {now.Add(-time.Hour), checkup.Wrong},
		"long ago": {time.Unix(0, 0), checkup.Wrong}, "tomorrow": {now.Add(24 * time.Hour), checkup.OK},
	} {
		if found := lookAtClock(t.Context(), config, c.at); len(found) != 1 || found[0].State != c.state {
			t.Errorf("%s: %+v, want %s", name, found, c.state)
		}
	}
}

func TestMemoryThatTheSystemAllows(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		state checkup.State
	}{
		"none":                {nil, "no limit", checkup.OK},
		"version 2":           {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1073741824\n"}, "allows 1024 MB", checkup.OK},
		"of the group above":  {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "536870912\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, "allows 512 MB", checkup.OK},
		"unlimited":           {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, "no limit", checkup.OK},
		"little":              {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "67108864\n"}, "allows 64 MB", checkup.Warning},
		"version 1":           {map[string]string{"proc/self/cgroup": "3:cpu:/x\n7:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, "allows 1024 MB", checkup.OK},
		"version 1 unlimited": {map[string]string{"proc/self/cgroup": "7:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, "no limit", checkup.OK},
		"nonsense":            {map[string]string{"proc/self/cgroup": "what\n0::../../etc\n"}, "no limit", checkup.OK},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if found := lookAtMemory(root); len(found) != 1 || found[0].State != c.state || !strings.Contains(found[0].Says, c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}

// While a server works nothing is wrong, and the doctor says who it is.
func TestDoctorWhileAServerWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := serveOn(t, dir)
	code, _, out := doctor(t, dir, "")
	if code != 0 || !strings.Contains(out, fmt.Sprintf("process %d works on it", os.Getpid())) || !strings.Contains(out, "listens on "+s.url) {
		t.Errorf("exit %d, %s", code, out)
	}
}

// No secret is printed: not a key, not the webhook's secret, not a header.
func TestDoctorShowsNoSecrets(t *testing.T) {
	dir := lived(t)
	secret, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY", "sk-canary-1234567890")
	t.Setenv("TRIBUTARY_API_KEY", "canary-0987654321-canary")
	_, _, out := doctor(t, dir, "models:\n- {name: a, provider: openai, model: gpt-5, headers: {X-Key: canary-header}}\n- {name: b, provider: gemini, model: m, api_key_file: /no/canary}\n")
	for _, word := range []string{"sk-canary", "canary-0987", "canary-header", strings.TrimSpace(string(secret))} {
		if strings.Contains(out, word) {
			t.Errorf("%q is in %s", word, out)
		}
	}
}

// Files with keys that others may read are warned about, by the doctor and when the server starts.
func TestFilesThatOthersMayRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-canary-1234567890"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("models:\n- {name: a, provider: openai, model: gpt-5, api_key_file: "+key+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, dir, "--config", config)
	for _, path := range []string{dir, key} {
		if !strings.Contains(s.log.String(), "path="+path) {
			t.Errorf("nothing is said of %s: %s", path, s.log)
		}
	}
	if strings.Contains(s.log.String(), "canary") || strings.Contains(s.log.String(), "path="+config) {
		t.Errorf("it says too much: %s", s.log)
	}
}
