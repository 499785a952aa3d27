//go:build linux && (amd64 || arm64)

package jail_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/tool/files"
	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

func TestFoldersAreThoseOfPackageFiles(t *testing.T) {
	for i, area := range []string{files.Workspace, files.Uploads, files.Outputs} {
		if got, want := jail.Folders[i], files.Top+"/"+area; got != want {
			t.Errorf("folder %d is %s, want %s", i, got, want)
		}
	}
}

// The packages of a program are initialised in the order of their names, each after those that it imports. A jail that imports
// little is there before all that the program needs for its other work.
func TestNothingElseIsInitialisedFirst(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	want := map[string]bool{"golang.org/x/sys/unix": true, "github.com/tributary-ai/tributary/tool/sandbox/internal/jail": true}
	for _, path := range strings.Fields(string(out)) {
		if !want[path] {
			t.Errorf("it imports %s, and waits until that is initialised", path)
		}
	}
}
