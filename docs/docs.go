// Package docs holds the project's own documentation, so that a fresh installation has documents to search in.
package docs

import "embed"

// FS is the documentation, in Markdown.
//
//go:embed *.md adr/*.md guide/*.md wire/*.md
var FS embed.FS
