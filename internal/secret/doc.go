// Package secret keeps what a request brings in confidence apart from what is stored and shown of it.
//
// # Laws
//
//   - [Take] leaves nothing of a secret in the settings that it returns: not under another spelling that JSON decoders take for
//     the same name, and not in a member that stands there twice.
//   - [Values] show themselves to nobody: printed, logged or encoded they are the word for a secret. Whoever wants one asks for
//     it by its name.
//   - What a [Box] has sealed is read with the key of its folder and for the run that it was sealed for, or not at all; what was
//     changed is not read either.
//
// Secret are, of a request's settings: all below "secrets", and below "mcp_settings" the headers and the environment of each
// server, and what an address has beside its host and path, since keys stand there too.
package secret
