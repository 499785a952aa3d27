package eventstream

import (
	"bytes"
	"context"
	"time"
)

// An answer is read no faster than a machine can bear that has other runs, too: a provider that sends without end waits for
// us in its own socket, and the runs beside it do not.
//
// It is lines that cost, since each is read, stored and shown; what is long costs less by the byte. The fastest models make
// some 3,000 lines a second of 250 bytes, most of them a hundredth of that. Here 6,000 pass, or 8 MiB of a picture, and an
// eighth of a second's worth at once.
const (
	paceRate  = 4 << 20 // of cost in a second
	paceBurst = paceRate / 8
	lineCost  = 256
)

// pace is a bucket of cost that is filled by time.
type pace struct {
	left int // may be less than nothing, which is waited out
	at   time.Time
}

// cost of some bytes: each line what a line costs, but no more than four times its length, and half of the bytes.
func cost(p []byte) int { return min(lineCost*bytes.Count(p, []byte{'\n'}), 4*len(p)) + len(p)/2 }

// wait returns when what was taken has been paid for, or with the context.
func (p *pace) wait(ctx context.Context) {
	now := time.Now()
	if p.at.IsZero() {
		p.left = paceBurst
	} else {
		p.left = int(min(paceBurst, int64(p.left)+int64(now.Sub(p.at).Seconds()*paceRate)))
	}
	p.at = now
	if p.left >= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(-p.left) * time.Second / paceRate)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *pace) take(b []byte) { p.left -= cost(b) }
