package agent

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

var idAlphabet = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newTurnID returns an id that sorts by time. It is shorter than a UUID because ids of calls are derived from it, and
// some providers refuse call ids of more than 40 characters.
func newTurnID() string {
	var b [15]byte
	var t [8]byte
	binary.BigEndian.PutUint64(t[:], uint64(time.Now().UnixMicro()))
	copy(b[:7], t[1:])
	_, _ = rand.Read(b[7:]) // never fails, see crypto/rand
	return "msg_" + idAlphabet.EncodeToString(b[:])
}
