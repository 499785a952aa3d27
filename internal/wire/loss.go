package wire

// lossSpan is more than any run says in the time that the system keeps writes to itself.
const lossSpan = 1_000_000_000

// BeyondLoss is the next number of a stream after events of it were lost with the power: one that has never been
// given out. What readers saw and nobody has any more lies between, so a reader that asks to go on there is found out.
func BeyondLoss(next uint64) uint64 { return (next/lossSpan + 1) * lossSpan }
