package graph

import (
	"crypto/sha1"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// idClock gives checkpoint ids their order. It holds the time part of the last id: 48 bits of milliseconds
// and 12 bits that count within one.
var idClock struct {
	sync.Mutex
	last uint64
}

// newCheckpointID returns a UUIDv7 that sorts after every id made by this process before, and after the parent,
// whose maker's clock may have been ahead of ours.
func newCheckpointID(parent string) string {
	ns := uint64(time.Now().UnixNano())
	now := ns/1e6<<12 | ns%1e6*4096/1e6
	idClock.Lock()
	t := max(now, idClock.last+1)
	if p, ok := timeOfID(parent); ok && p >= t {
		t = p + 1
	}
	idClock.last = t
	idClock.Unlock()

	var b [16]byte
	for i := range 6 {
		b[i] = byte(t >> (52 - 8*i))
	}
	b[6] = 0x70 | byte(t>>8)&0x0f
	b[7] = byte(t)
	r := rand.Uint64()
	for i := range 8 {
		b[8+i] = byte(r >> (8 * i))
	}
	b[8] = 0x80 | b[8]&0x3f
	return formatUUID(b)
}

// timeOfID reads the time part of a UUIDv7.
func timeOfID(id string) (uint64, bool) {
	if len(id) != 36 || id[14] != '7' {
		return 0, false
	}
	t, err := strconv.ParseUint(id[0:8]+id[9:13]+id[15:18], 16, 64)
	return t, err == nil
}

// newUUID returns a random id, for messages that came without one.
func newUUID() string {
	var b [16]byte
	for i := 0; i < 16; i += 8 {
		r := rand.Uint64()
		for j := range 8 {
			b[i+j] = byte(r >> (8 * j))
		}
	}
	b[6] = 0x40 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	return formatUUID(b)
}

// taskID derives the id of an execution from where it is due, so that a repetition after a crash has the same.
func taskID(checkpoint, ns, node string, path []string) string {
	var buf [256]byte
	b := append(buf[:0], checkpoint...)
	b = append(append(b, 0), ns...)
	b = append(append(b, 0), node...)
	for _, p := range path {
		b = append(append(b, 0), p...)
	}
	return hashUUID(b)
}

// childID derives the id under which a task runs a child graph.
func childID(task, call string) string {
	return hashUUID(append(append([]byte(task), 0, 1), call...))
}

// interruptID derives the id of a task's n-th question.
func interruptID(task string, n int) string {
	sum := sha1.Sum(strconv.AppendInt(append([]byte(task), 0, 2), int64(n), 10))
	return hex.EncodeToString(sum[:16])
}

func hashUUID(data []byte) string {
	sum := sha1.Sum(data)
	b := [16]byte(sum[:16])
	b[6] = 0x50 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	return formatUUID(b)
}

func formatUUID(b [16]byte) string {
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:36], b[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

var lastVersion atomic.Int64

// newVersion returns a version greater than after and than any that this process gave before. Branches
// that start from the same checkpoint therefore never share one.
func newVersion(after int64) int64 {
	now := time.Now().UnixMicro()
	for {
		last := lastVersion.Load()
		v := max(now, last+1, after+1)
		if lastVersion.CompareAndSwap(last, v) {
			return v
		}
	}
}
