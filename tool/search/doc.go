// Package search finds passages in local documents by full text, and gives them to models as a tool.
//
// An [Index] covers folders of Markdown and plain text. Each document is cut into passages at its headings and
// paragraphs; a passage knows its title, the trail of headings it stands under, its path and its line. The
// index is a SQLite database of its own that can be deleted at any time: it is built from the documents and
// never holds anything else.
//
// # Laws
//
//   - The text of a passage is the document's, unchanged but for line breaks inside paragraphs, which become
//     spaces (or nothing, between Chinese characters). Whoever quotes a passage quotes the document.
//   - A query is words, never syntax: no character of it reaches the query language unquoted, and no query is
//     an error. Words are matched in any case and in any English inflection, Chinese by pairs of characters.
//   - Passages that have all words come before those that have some; within each group the best match comes
//     first, words in titles and headings weighing more. Equal queries on equal documents give equal results.
//   - Refreshing reads only files that may have changed. A file's passages are replaced in one transaction, so
//     a search sees a document as it was or as it is, and a crash leaves nothing half done.
//   - An index that is damaged is put aside and built anew, when it is opened or when a search finds it out. A valid database of
//     something else is refused and not touched.
//
// An Index is safe for concurrent use. Searching goes on while a refresh runs, unless the index is in memory;
// then it waits for the file being written.
package search
