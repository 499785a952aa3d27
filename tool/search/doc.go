// Package search finds passages in local documents, and gives them to models as a tool.
//
// An [Index] covers folders of documents, in every format that package internal/document reads. Each document is cut into
// passages at its headings and paragraphs; a passage knows its title, the trail of headings it stands under, its path, and
// its line or page. The index is a SQLite database of its own that can be deleted at any time: it is built from the
// documents and never holds anything else.
//
// # Laws
//
//   - The text of a passage is the document's, unchanged but for line breaks inside paragraphs, which become
//     spaces (or nothing, between Chinese characters), and for comments of HTML, which are left out. Whoever quotes a
//     passage quotes the document.
//   - A query is words, never syntax, and no query is an error. Words are matched in any case and in any English
//     inflection, Chinese by pairs of characters. Synonyms count half.
//   - Passages that have more of the question come first; words in titles and headings, words that are rare, and words
//     that stand together weigh more. Equal queries on equal documents give equal results, but for hundreds of passages
//     that are equally good.
//   - Where there is a model for embeddings, the meaning of passages has a say in their order beside their words. Whether anything
//     is found the words decide alone. A model that fails or is slow delays an answer by a bounded time and is done without; its
//     vectors are kept with the passages and go with them.
//   - Where no passage has enough of the question, nothing is found: what comes nearest is about something else. Among more passages more
//     is asked of one.
//   - A call of the tool also finds what the thread of the call has of its own, in its folder: uploads, and pages that were kept. No call in
//     another thread does.
//   - Refreshing reads only files that may have changed, and remembers those that it could not read. A file's passages
//     are replaced in one transaction, so a search sees a document as it was or as it is, and a crash leaves nothing half
//     done.
//   - An index that is damaged is put aside and built anew, when it is opened or when a search finds it out. A valid database of
//     something else is refused and not touched.
//
// An Index is safe for concurrent use. Searching goes on while a refresh runs, unless the index is in memory;
// then it waits for the files being written.
//
// Files: token.go and question.go take texts and questions apart, vocabulary.go, table.go, posting.go and batch.go keep what was found, rank.go, score.go,
// closer.go and meaning.go put it in order, read.go and markdown.go read and cut documents, refresh.go and watch.go keep up with
// them; tool.go is the tool, and thread.go what a thread has of its own.
package search
