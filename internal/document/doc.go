// Package document reads files that people write, and gives their text as Markdown.
//
// [Read] knows Markdown, plain text, source code, HTML, PDF, DOCX, XLSX, PPTX and EPUB. It is a pure function of the
// file's name and bytes: it opens nothing, asks nobody and starts nothing that outlives it.
//
// # Laws
//
//   - What is returned is text of the file, with headings, lists and tables as Markdown. Nothing is added but marks of
//     Markdown, and the anchors of headings as {#id} where the file has them.
//   - A file that cannot be read is an [Error] with a sentence for people: what is wrong with it, and what to do.
//     Whatever the bytes are, Read neither panics nor loops, and needs memory in proportion to [Limits] and not to what
//     the file claims to hold.
//   - A file with more text than the limit is cut there, and says so (Truncated); that is not an error.
//   - Places are those that people use: "page 3", "slide 2", "sheet Budget". A format that is read as it stands
//     (Markdown, text, code) is one section without a place, and its lines are the file's lines.
package document
