// Package folders serves the folders of threads: what people upload for an agent to read, and what it leaves for them.
//
// # Laws
//
//   - A thread's files are its owner's: everybody else is told that there is no such thread.
//   - A name in a request is a name within the three folders of the thread, or refused. Links lead nowhere outside of them.
//   - A file that is uploaded or written is there as a whole or not at all. A name that is taken gets a number, and
//     nothing is overwritten but by a client who says which content it replaces.
//   - What was presented to people, and what they replaced, can be had again: the latest versions of each file are kept.
//   - Nothing that an agent wrote or a person uploaded runs in the origin of the server: what a browser would execute is a
//     download, and a preview of it stands in an origin of its own, without the network.
//   - A Markdown file is to be had in other formats, as a download that needs no other file. Its pictures are files of the same
//     thread; whatever else it names stays where it is.
package folders
