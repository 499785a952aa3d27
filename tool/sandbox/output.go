package sandbox

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

const (
	headBytes     = 8 << 10   // of an output are kept from its beginning
	tailBytes     = 16 << 10  // and from its end
	progressBytes = 256 << 10 // are told while the command runs
	floodBytes    = 64 << 20  // end the command: nobody reads that
	progressPause = 100 * time.Millisecond
)

// pour hands on what is written to a pipe until its end. Output without end is cut off by kill, and pour says so.
func pour(from io.Reader, out func([]byte), kill func()) (why string) {
	buf := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := from.Read(buf)
		if n > 0 && why == "" {
			out(buf[:n])
		}
		if total += n; total > floodBytes && why == "" {
			why = fmt.Sprintf("it wrote more than %d MiB; write long output into a file", floodBytes>>20)
			kill()
		}
		if err != nil {
			return why
		}
	}
}

// transcript is what is kept of an output, and tells it as it grows. It belongs to one goroutine at a time.
type transcript struct {
	scope tool.Scope

	total int
	head  []byte
	tail  []byte // the last bytes, and a few that came before them

	told   int
	untold []byte
	last   time.Time // when something was told
}

func (t *transcript) write(p []byte) {
	t.tell(p)
	t.total += len(p)
	if n := min(headBytes-len(t.head), len(p)); n > 0 {
		t.head = append(t.head, p[:n]...)
		p = p[n:]
	}
	t.tail = append(t.tail, p...)
	if len(t.tail) > 4*tailBytes {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-tailBytes:]...)
	}
}

// tell tells what is new, a few times a second and not without end.
func (t *transcript) tell(p []byte) {
	if t.told > progressBytes {
		return
	}
	t.untold = append(t.untold, p...)
	if time.Since(t.last) >= progressPause {
		t.flush(false)
	}
}

// flush tells what is there. Half a character waits for its other half, unless this is the end.
func (t *transcript) flush(end bool) {
	n := len(t.untold)
	if !end {
		n = wholeCharacters(t.untold)
	}
	if n == 0 {
		return
	}
	text := strings.ToValidUTF8(string(t.untold[:n]), "\uFFFD")
	t.untold = append(t.untold[:0], t.untold[n:]...)
	if t.told += n; t.told > progressBytes {
		text += "\n[more is written than is shown here]\n…"
		t.untold = nil
	}
	t.last = time.Now()
	t.show(text)
}

// show adds to what people see of the result.
func (t *transcript) show(text string) { t.scope.Show(0, item.Text(text)[0]) }

// close tells the rest, and what is said about the command in the end. Of output that was too long to be told people see the
// end, too.
func (t *transcript) close(said string) {
	t.flush(true)
	if t.told > progressBytes {
		said = strings.ToValidUTF8(string(t.end()), "\uFFFD") + said
	}
	t.show(said)
}

// end is the last part of the output that is not in its head.
func (t *transcript) end() []byte { return t.tail[max(len(t.tail)-tailBytes, 0):] }

// wholeCharacters is the length without a character that has only begun.
func wholeCharacters(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// text is the output, without its middle if it is long.
func (t *transcript) text() string {
	tail := t.end()
	if left := t.total - len(t.head) - len(tail); left > 0 {
		return strings.ToValidUTF8(string(t.head), "\uFFFD") + fmt.Sprintf("\n[%d bytes are left out here; write long output into a file]\n", left) + strings.ToValidUTF8(string(tail), "\uFFFD")
	}
	return strings.ToValidUTF8(string(t.head)+string(tail), "\uFFFD")
}
