package journal

import (
	"math/bits"
	"sync"
)

// buffers lends memory for events that wait to be written. What a run has queued is needed until the store has it, which
// is milliseconds; without lending, that would be half of all that a stream allocates.
//
// Sizes are powers of two, so that a run that says little is never lent much.
type buffers struct {
	sizes [largestBuffer - smallestBuffer + 1]sync.Pool // of *[]byte
}

const (
	smallestBuffer = 12 // 4 KiB; less is not worth lending
	largestBuffer  = 18 // 256 KiB
)

// grow makes room for n bytes more in a buffer, and takes the old one back. Where that is little, or very much, it leaves it
// to append.
func (b *buffers) grow(buf []byte, n int) []byte {
	need := len(buf) + n
	if need <= cap(buf) || need <= 1<<(smallestBuffer-1) || need > 1<<largestBuffer {
		return buf
	}
	class := max(bits.Len(uint(need-1)), smallestBuffer)
	var out []byte
	if lent, ok := b.sizes[class-smallestBuffer].Get().(*[]byte); ok {
		out = (*lent)[:0]
	} else {
		out = make([]byte, 0, 1<<class)
	}
	out = append(out, buf...)
	b.put(buf)
	return out
}

// put takes a buffer that nobody looks at any more.
func (b *buffers) put(buf []byte) {
	class := bits.Len(uint(cap(buf))) - 1 // what it is surely large enough for
	if class < smallestBuffer || class > largestBuffer {
		return
	}
	lent := buf // its own variable, or every call would allocate
	b.sizes[class-smallestBuffer].Put(&lent)
}
