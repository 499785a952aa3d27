package run

// LargeInputs makes fewer bytes of large inputs begin at once, in engines that are opened until restore is called: with the race detector
// megabytes take seconds.
func LargeInputs(n int64) (restore func()) {
	was := largeInputs
	largeInputs = n
	return func() { largeInputs = was }
}
