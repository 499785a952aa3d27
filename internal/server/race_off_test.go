//go:build !race

package server_test

const racing = false
