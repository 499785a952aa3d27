package tributary

import (
	"os"
	"strings"

	"github.com/google/uuid"
)

// boot names the time for which the system keeps what was written and not synced. Where the system does not say, every
// process counts as a boot of its own: that numbers are left out after a crash is better than that they come twice.
func (r *Runtime) boot() string {
	if r.opt.Disk {
		return ""
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if name := strings.TrimSpace(string(id)); err == nil && name != "" {
		return name
	}
	return uuid.NewString()
}
