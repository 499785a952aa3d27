// Package ui holds the built page, as files. Its source is beside it, in TypeScript; README.md says how it is made. What is in
// dist is committed, so that building the program needs no Node, and a test fails where it is not what the source gives.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the page: index.html, and under page/ what it loads, each with the hash of its contents in its name.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // the name above is no path
		panic(err)
	}
	return files
}
