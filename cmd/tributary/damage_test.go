package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A server acknowledges threads, is killed, and a byte of its write-ahead log flips. As many threads as are missing afterwards are
// told, by the log and by check.
func TestThreadsLostWithADamagedLogAreTold(t *testing.T) {
	lost := 0
	for round := range 3 {
		dir := filepath.Join(t.TempDir(), "data")
		p := startProcess(t, dir)
		var threads []string
		for range 20 {
			code, body, err := post(t.Context(), p.url+"/threads", "{}")
			if err != nil || code != 200 {
				t.Fatal(code, err)
			}
			threads = append(threads, body["thread_id"].(string))
		}
		p.kill()
		log := filepath.Join(dir, "tributary.db-wal")
		data, err := os.ReadFile(log)
		if err != nil || len(data) == 0 {
			t.Fatalf("the log has %d bytes, %v", len(data), err)
		}
		data[len(data)*(round+1)/4] ^= 0x20
		if err := os.WriteFile(log, data, 0o600); err != nil {
			t.Fatal(err)
		}
		q := startProcess(t, dir)
		missing := 0
		for _, id := range threads {
			if status, _ := get(t, q.url+"/threads/"+id); status != 200 {
				missing++
			}
		}
		told := 0
		if m := regexp.MustCompile(`transactions=(\d+)`).FindStringSubmatch(q.log.String()); m != nil {
			told, _ = strconv.Atoi(m[1])
		}
		t.Logf("%d are missing, %d told", missing, told)
		if missing > told {
			t.Errorf("%d threads are missing, and %d are told: %s", missing, told, q.log)
		}
		if missing > 0 {
			lost++
			code, out, _ := ended(t, program(t, "--data", dir, "check"))
			if code != 1 || !strings.Contains(out, fmt.Sprintf("up to %d transactions may be lost", told)) {
				t.Errorf("check: exit %d, %s", code, out)
			}
		}
		q.kill()
	}
	t.Logf("threads were lost in %d of 3 rounds", lost) // where the log had been moved already, none need be
}
