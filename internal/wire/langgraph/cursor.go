package langgraph

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseCursor reads a Last-Event-ID: after the frame at this place among those of the event seq, which was written under the
// lease epoch. "-1" and "" are before everything, and give place -1. A plain number is read as a seq whose epoch is
// not known (0); it is also the ID of a frame where Options.Ordinal is set.
func ParseCursor(s string) (epoch int, seq uint64, place int, err error) {
	if s == "" || s == "-1" {
		return 0, 0, -1, nil
	}
	rest := s
	if before, after, ok := strings.Cut(rest, "-"); ok {
		n, ok := number(before, 31)
		if !ok {
			return 0, 0, 0, badCursor(s)
		}
		epoch, rest = int(n), after
	}
	rest, sub, dotted := strings.Cut(rest, ".")
	if dotted {
		n, ok := number(sub, 31)
		if !ok || n == 0 { // the first frame has no place in its ID
			return 0, 0, 0, badCursor(s)
		}
		place = int(n)
	}
	seq, ok := number(rest, 64)
	if !ok {
		return 0, 0, 0, badCursor(s)
	}
	return epoch, seq, place, nil
}

// FormatCursor writes the ID of a frame.
func FormatCursor(epoch int, seq uint64, place int) string {
	var buf [48]byte
	b := strconv.AppendInt(buf[:0], int64(epoch), 10)
	b = strconv.AppendUint(append(b, '-'), seq, 10)
	if place > 0 {
		b = strconv.AppendInt(append(b, '.'), int64(place), 10)
	}
	return string(b)
}

// number reads digits in the one spelling that we write: no sign, no leading zero.
func number(s string, bits int) (uint64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, bits)
	return n, err == nil
}

func badCursor(s string) error {
	if len(s) > 64 {
		s = s[:64] + "…"
	}
	return fmt.Errorf("Last-Event-ID %q is not the id of an event of this stream; use -1 to begin from the start", s)
}
