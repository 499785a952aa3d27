// Command licences checks that everything we link may be given away under Apache-2.0.
//
// It reads the licence files of the modules that the go command says are linked, from the module cache, and keeps
// these laws:
//
//   - Every licence in a module's folder, and in every folder from there to a package that is linked, counts. A file
//     that cannot be recognised is as bad as one that is not allowed, and so is none.
//   - What ships is what others can import and the command: every package outside internal whose name does not end in
//     "test", and all that these link. All else is linked by tests alone, where [InTests] is allowed too.
//
// With -page it also checks that a page lists what was found; with -write it writes that list.
package main
