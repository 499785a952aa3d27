// Package files gives a model the files of its thread: ls, read_file, glob, grep, write_file, str_replace and
// present_files.
//
// The model knows three folders, always under the same names, wherever they are on the machine:
//
//	/mnt/user-data/workspace   its own, to work in
//	/mnt/user-data/uploads     what people gave; it can be read only
//	/mnt/user-data/outputs     what is meant for people
//
// Laws:
//
//   - No argument reaches a file outside of the three folders, and none writes into uploads. Names are translated by
//     [ParsePath], which is pure; what holds whatever the disk looks like at that moment is [os.Root], which has one root for
//     each of the three. Links that lead out of their folder are errors.
//   - Hard links to files outside cannot come to be: none of the tools makes links, and a sandbox sees each folder as a file
//     system of its own, across which there are none. And a file is never written in place, but replaced.
//   - Results name files as arguments do. Errors never tell where the folders really are.
//   - Nothing is overwritten blindly. An agent can replace a file only with the content that it read last, or that it wrote
//     itself; each sub-agent counts on its own. Changes of one file are made one after the other.
//   - A write is whole or did not happen, also if the process dies.
//   - Results are bounded, and say how to get the rest.
package files

import (
	"context"
	"os"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Options are settings of the tools.
type Options struct {
	// Room returns an error, for the model to read, if a thread's folder may not grow by so many bytes and files. Nil: there
	// always is room.
	Room func(folder *os.Root, bytes int64, files int) error
	// Keep keeps what a file is when it is presented, so that people can have it again when it has changed; name begins with its area.
	// What it cannot keep is not kept. Nil: nothing is.
	Keep func(folder *os.Root, name string) error
}

// Group is the group of all these tools.
const Group = "files"

// Tools makes the tools, in the order in which models are shown them.
func Tools(opt Options) []tool.Tool {
	if opt.Keep == nil {
		opt.Keep = func(*os.Root, string) error { return nil }
	}
	if opt.Room == nil {
		opt.Room = func(*os.Root, int64, int) error { return nil }
	}
	return []tool.Tool{
		reading("ls", `Lists a folder. Folders end in "/", files have their size in bytes.`, ls),
		reading("read_file", "Reads a text file, or lines of it. Long files come in pages.", readFile),
		reading("glob", "Finds files by their names.", glob),
		reading("grep", "Finds the lines of files that match a regular expression.", grep),
		writing("write_file", "Writes a whole file, and the folders above it where there are none. A file that exists must have been read before. "+
			"Work in /mnt/user-data/workspace; put what people are to have into /mnt/user-data/outputs.", opt, writeFile),
		writing("str_replace", "Replaces a piece of text in a file. The piece must be exactly as in the file, and stand there once only.", opt, strReplace),
		looking("present_files", "Shows files to the person, as results of your work. They must be in /mnt/user-data/outputs.", opt, presentFiles),
	}
}

// described adds to a function what its description has besides.
type described struct {
	tool.Tool
	risk       tool.Risk
	repeatable bool
}

func (d described) Spec() tool.Spec {
	spec := d.Tool.Spec()
	spec.Group, spec.Risk, spec.Repeatable, spec.Timeout = Group, d.risk, d.repeatable, time.Minute
	return spec
}

func reading[In any](name, description string, do func(context.Context, *desk, In) (item.ToolResult, error)) tool.Tool {
	return looking(name, description, Options{}, do)
}

// looking is reading for a tool that needs more than the files.
func looking[In any](name, description string, opt Options, do func(context.Context, *desk, In) (item.ToolResult, error)) tool.Tool {
	return described{tool.FuncOfCall(name, description, func(ctx context.Context, call tool.Call, in In) (item.ToolResult, error) {
		return at(ctx, call, opt, in, do)
	}), tool.Reads, true}
}

func writing[In any](name, description string, opt Options, do func(context.Context, *desk, In) (item.ToolResult, error)) tool.Tool {
	return described{tool.FuncOfCall(name, description, func(ctx context.Context, call tool.Call, in In) (item.ToolResult, error) {
		return at(ctx, call, opt, in, do)
	}), tool.Reads | tool.Writes, false}
}

func at[In any](ctx context.Context, call tool.Call, opt Options, in In, do func(context.Context, *desk, In) (item.ToolResult, error)) (item.ToolResult, error) {
	folder, err := call.Scope.Folder()
	if err != nil {
		return item.ToolResult{}, err
	}
	d := &desk{folder: folder, scope: call.Scope, task: call.Task, memory: memoryOf(call.Scope), room: opt.Room, keep: opt.Keep}
	return do(ctx, d, in)
}
