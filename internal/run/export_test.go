package run

import "time"

// LargeInputs makes fewer bytes of large inputs begin at once, in engines that are opened until restore is called: with the race detector
// megabytes take seconds.
func LargeInputs(n int64) (restore func()) {
	was := largeInputs
	largeInputs = n
	return func() { largeInputs = was }
}

// HandOver gives runs longer to be given back until restore is called, on a machine that is busy with something else.
func HandOver(d time.Duration) (restore func()) {
	was := handOver
	handOver = d
	return func() { handOver = was }
}
