package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Artifacts is the field of the agent's state that has the files which were presented, under the names that models know.
const Artifacts = "artifacts"

type presentArguments struct {
	Paths []string `json:"filepaths" jsonschema:"the files, as in /mnt/user-data/outputs/report.md"`
}

func presentFiles(_ context.Context, d *desk, in presentArguments) (item.ToolResult, error) {
	if len(in.Paths) == 0 {
		return item.ToolResult{}, errors.New("filepaths is empty; name the files to present")
	}
	var names []string
	for _, written := range in.Paths {
		p, err := ParsePath(written)
		if err != nil {
			return item.ToolResult{}, err
		}
		if p.Area != Outputs {
			return item.ToolResult{}, fmt.Errorf("%s is not in %s/%s; write it there first", p, Top, Outputs)
		}
		f, _, err := d.openPath(p)
		if err != nil {
			return item.ToolResult{}, err
		}
		f.Close()
		_ = d.keep(d.folder, p.Area+"/"+p.Name) // the file is there, whether what it is now is kept or not
		names = append(names, p.String())
	}
	if err := d.scope.Update(Artifacts, names); err != nil {
		return item.ToolResult{}, err
	}
	return tool.Text("presented: " + strings.Join(names, ", ")), nil
}
