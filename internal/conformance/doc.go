// Command conformance serves the same API as tributary serve, from the same packages, with graphs that other people's
// clients and test-suites expect to find (package graphs). It starts empty, in a temporary folder, and needs no key.
//
//	go run ./internal/conformance -addr 127.0.0.1:2094
//
// It has one route of its own: POST /internal/truncate with {"runs", "threads", "assistants", "store", "checkpoint"}, all
// booleans, empties what is named.
//
// Pages of any origin may call it, since the clients that are tested with it are pages; tributary serve asks for a list.
package main
