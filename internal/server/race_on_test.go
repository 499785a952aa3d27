//go:build race

package server_test

// racing says that the race detector watches, under which pools forget what they hold.
const racing = true
