//go:build linux && (amd64 || arm64)

package jail

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// every is how often the launcher counts, where no control group does.
const every = 50 * time.Millisecond

// watch ends the command if all processes together hold too much memory or are too many.
func (o *Order) watch(met *atomic.Pointer[string]) {
	if !o.WatchMemory && !o.WatchProcesses {
		return
	}
	for ; ; time.Sleep(every) {
		why := ""
		pids := processes()
		if o.WatchProcesses && len(pids) > o.Processes {
			why = TooMany(o.Processes)
		}
		// What is shared counts for each who shares it, until that is too much; then it is looked at closely.
		if o.WatchMemory && resident(pids) > o.Memory && proportional(pids) > o.Memory {
			why = TooMuch(o.Memory)
		}
		if why != "" {
			met.Store(&why)
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

func TooMany(processes int) string { return fmt.Sprintf("it had more than %d processes", processes) }
func TooMuch(memory int64) string {
	return fmt.Sprintf("it needed more than %d MiB of memory, with all its processes", memory>>20)
}

// processes are all in the jail but the launcher.
func processes() (pids []string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && name != "1" {
			pids = append(pids, name)
		}
	}
	return pids
}

// resident adds up what processes hold; what several hold counts for each.
func resident(pids []string) (total int64) {
	for _, pid := range pids {
		raw, err := os.ReadFile("/proc/" + pid + "/statm")
		if fields := bytes.Fields(raw); err == nil && len(fields) > 1 {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			total += n * int64(os.Getpagesize())
		}
	}
	return total
}

// proportional adds up what processes hold; what several hold counts once.
func proportional(pids []string) (total int64) {
	for _, pid := range pids {
		raw, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil { // nobody hides from being counted
			total += resident([]string{pid})
			continue
		}
		for line := range bytes.Lines(raw) {
			if value, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
				n, _ := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
				total += n << 10
			}
		}
	}
	return total
}
