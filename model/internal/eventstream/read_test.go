package eventstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/model"
)

// pieces hands out the bytes of a source in the given sizes, over and over, and then err.
type pieces struct {
	data  []byte
	sizes []int
	err   error
	i     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, p.err
	}
	n := min(len(b), p.sizes[p.i%len(p.sizes)], len(p.data))
	p.i++
	copy(b, p.data[:n])
	p.data = p.data[n:]
	return n, nil
}

func events(r *Reader) (all []string, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e.Name+"|"+string(e.Data))
	}
}

func TestReaderReadsEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"line feeds":                  {"data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		"carriage returns":            {"data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		"both":                        {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		"both, with several lines":    {"event: x\r\ndata: a\r\ndata: b\r\n\r\n", []string{"x|a\nb"}},
		"names":                       {"event: x\ndata: a\n\ndata: b\n\nevent:x\ndata:c\n\n", []string{"x|a", "|b", "x|c"}},
		"name after data":             {"data: a\nevent: x\n\n", []string{"x|a"}},
		"several lines of data":       {"data: a\ndata:\ndata:  b\n\n", []string{"|a\n\n b"}},
		"first line of data empty":    {"data:\ndata: b\n\n", []string{"|\nb"}},
		"comments":                    {": hello\n\n:\n\ndata: a\n: x\ndata: b\n\n", []string{"|a\nb"}},
		"no space":                    {"data:a\n\n", []string{"|a"}},
		"a field without a colon":     {"data\n\nid\n\ndata: a\n\n", []string{"|a"}},
		"colons in data":              {"data: a: b\n\n", []string{"|a: b"}},
		"other fields":                {"id: 1\nretry: 5\ndataset: 7\ndata: a\n\n", []string{"|a"}},
		"an event that is only named": {"event: ping\n\ndata: a\n\n", []string{"|a"}},
		"byte-order mark":             {"\xef\xbb\xbfdata: a\n\n", []string{"|a"}},
		"no blank line at the end":    {"data: a\n\ndata: b\n", []string{"|a", "|b"}},
		"no line end at the end":      {"data: a\n\nevent: x\ndata: b", []string{"|a", "x|b"}},
		"many blank lines":            {"\n\n\ndata: a\n\n\n\n", []string{"|a"}},
		"nothing":                     {"", nil},
		"only comments":               {": a\n: b", nil},
		"characters of many bytes":    {"data: héllo 🌊\n\n", []string{"|héllo 🌊"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1 << 20} {
				got, err := events(NewReader(&pieces{data: []byte(tc.in), sizes: []int{size}, err: io.EOF}))
				if err != io.EOF || fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("in pieces of %d: got %q and %v, want %q", size, got, err, tc.want)
				}
			}
		})
	}
}

// A reader that waits for the byte after an event, or after a CR that may be half of a CRLF, delays every
// token by one.
func TestEventIsHandedOutWithItsLastByte(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		in := &pieces{data: []byte("data: a" + end), sizes: []int{1}, err: errors.New("read too far")}
		if e, err := NewReader(in).Next(); err != nil || string(e.Data) != "a" {
			t.Errorf("%q: got %q, %v", end, e.Data, err)
		}
	}
}

func TestErrorsOfTheSourceComeAfterWholeEventsAndStay(t *testing.T) {
	broke := errors.New("reset")
	r := NewReader(&pieces{data: []byte("data: a\n\ndata: b\n"), sizes: []int{100}, err: broke})
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Fatalf("first event: %q, %v", e.Data, err)
	}
	for range 2 {
		if e, err := r.Next(); err != broke {
			t.Fatalf("got %q, %v, want the error of the source", e.Data, err)
		}
	}
	if _, err := NewReader(&pieces{data: []byte("x"), sizes: []int{0}}).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that gives nothing for ever: got %v", err)
	}
}

func TestPiecesHaveALimit(t *testing.T) {
	endless := func(prefix, unit string) io.Reader {
		return io.MultiReader(strings.NewReader(prefix), &pieces{data: bytes.Repeat([]byte(unit), (MaxSize+1<<20)/len(unit)), sizes: []int{1 << 16}, err: io.EOF})
	}
	line := strings.Repeat("x", 1000)
	for name, next := range map[string]func() error{
		"one line of an event":    next(NewReader(endless("data: ", line)).Next),
		"many lines of an event":  next(NewReader(endless("", "data: "+line+"\n")).Next),
		"a line":                  next(NewLines(endless("{", line)).Next),
		"an element":              next(NewArray(endless(`[{"a":"`, line)).Next),
		"a line with its end":     next(NewLines(io.MultiReader(endless("", line), strings.NewReader("\n"))).Next),
		"an element with its end": next(NewArray(io.MultiReader(endless(`["`, line), strings.NewReader(`"]`))).Next),
	} {
		for range 2 {
			if err := next(); !errors.As(err, new(*model.LimitError)) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func next[T any](f func() (T, error)) func() error {
	return func() error { _, err := f(); return err }
}

func TestLinesSkipsBlankOnes(t *testing.T) {
	l := NewLines(iotest.OneByteReader(strings.NewReader("{\"a\":1}\r\n\n  \n{\"b\":2}")))
	var got []string
	for {
		line, err := l.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	if want := `[{"a":1} {"b":2}]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func elements(a *Array) (all []string, err error) {
	for {
		e, err := a.Next()
		if err != nil {
			return all, err
		}
		all = append(all, string(e))
	}
}

func TestArrayReadsElements(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
		err  error
	}{
		"objects":              {`[{"a":"]}"},{"b":[{}]}]`, []string{`{"a":"]}"}`, `{"b":[{}]}`}, io.EOF},
		"white space":          {" [\n{\"a\":1}\r\n,\n\n{\"b\":2}\n]\n", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"escapes":              {`[{"a":"\"}\\"},{"b":"\\\""}]`, []string{`{"a":"\"}\\"}`, `{"b":"\\\""}`}, io.EOF},
		"values of other kind": {`[1, "a,b" ,null,[2,[3]],true]`, []string{`1`, `"a,b"`, `null`, `[2,[3]]`, `true`}, io.EOF},
		"empty":                {`[ ]`, nil, io.EOF},
		"one object":           {`{"error":{"code":400}}`, []string{`{"error":{"code":400}}`}, io.EOF},
		"byte-order mark":      {"\xef\xbb\xbf[1]", []string{`1`}, io.EOF},
		"after the end":        {`[1]garbage`, []string{`1`}, io.EOF},
		"cut between":          {`[{"a":1}`, []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		"cut after a comma":    {`[{"a":1},`, []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		"cut inside":           {`[{"a":1},{"b":`, []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		"cut object":           {`{"b":`, nil, io.ErrUnexpectedEOF},
		"nothing":              {``, nil, io.ErrUnexpectedEOF},
		"no comma":             {`[{} {}]`, []string{`{}`}, ErrNotArray},
		"two commas":           {`[{},,{}]`, []string{`{}`}, ErrNotArray},
		"comma at the end":     {`[{},]`, []string{`{}`}, ErrNotArray},
		"HTML":                 {`<html>`, nil, ErrNotArray},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 1 << 20} {
				a := NewArray(&pieces{data: []byte(tc.in), sizes: []int{size}, err: io.EOF})
				got, err := elements(a)
				if err != tc.err || fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("in pieces of %d: got %q and %v, want %q and %v", size, got, err, tc.want, tc.err)
				}
				if _, again := a.Next(); again != err {
					t.Errorf("in pieces of %d: later %v, want %v for ever", size, again, err)
				}
			}
		})
	}
}

func TestElementIsHandedOutWithItsClosingBrace(t *testing.T) {
	a := NewArray(&pieces{data: []byte(`[{"a":1}`), sizes: []int{1}, err: errors.New("read too far")})
	if e, err := a.Next(); err != nil || string(e) != `{"a":1}` {
		t.Errorf("got %q, %v", e, err)
	}
}

// naive is the event-stream format read from a whole string, after the standard's words.
func naive(in string) (all []string) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	for block := range strings.SplitSeq(in+"\n", "\n\n") {
		var name string
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimPrefix(value, " "); field {
			case "data":
				data = append(data, value)
			case "event":
				name = value
			}
		}
		if d := strings.Join(data, "\n"); d != "" {
			all = append(all, name+"|"+d)
		}
	}
	return all
}

func checkAllReaders(t interface {
	Helper()
	Errorf(string, ...any)
}, in string, sizes []int) {
	t.Helper()
	cut := func() *pieces { return &pieces{data: []byte(in), sizes: sizes, err: io.EOF} }
	whole := func() *pieces { return &pieces{data: []byte(in), sizes: []int{1 << 20}, err: io.EOF} }

	if got, err := events(NewReader(cut())); err != io.EOF || fmt.Sprint(got) != fmt.Sprint(naive(in)) {
		t.Errorf("events of %q in pieces of %v: got %q and %v, want %q", in, sizes, got, err, naive(in))
	}
	got, err := elements(NewArray(cut()))
	want, wantErr := elements(NewArray(whole()))
	if err != wantErr || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("elements of %q in pieces of %v: got %q and %v, want %q and %v", in, sizes, got, err, want, wantErr)
	}
	var lines, wantLines []string
	l := NewLines(cut())
	for b, err := l.Next(); err == nil; b, err = l.Next() {
		lines = append(lines, string(b))
	}
	l = NewLines(whole())
	for b, err := l.Next(); err == nil; b, err = l.Next() {
		wantLines = append(wantLines, string(b))
	}
	if fmt.Sprint(lines) != fmt.Sprint(wantLines) {
		t.Errorf("lines of %q in pieces of %v: got %q, want %q", in, sizes, lines, wantLines)
	}
}

func TestCutsDoNotShow(t *testing.T) {
	word := rapid.SampledFrom([]string{"data:a", "data: b", "event: x", ": c", "\n", "\r", "\r\n", "\r\n", "\n\n", "é", "\xef\xbb\xbf", "data", " ", "{", "}", "[", "]", ",", `"`, `\`, "1"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(word).Draw(t, "in"), "")
		checkAllReaders(t, in, rapid.SliceOfN(rapid.IntRange(1, 7), 1, 5).Draw(t, "sizes"))
	})
}

func FuzzReaders(f *testing.F) {
	f.Add("data: {\"a\":1}\n\n: ping\r\nevent: x\rdata:[DONE]", uint8(3))
	f.Add("[{\"a\":\"\\\"\"},\n1,null]", uint8(1))
	f.Add("\xef\xbb\xbfdata: é\n", uint8(2))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		checkAllReaders(t, in, []int{int(size)%8 + 1, 1})
	})
}

func BenchmarkReader(b *testing.B) {
	const chunk = `data: {"id":"chatcmpl-D8Z5oo6uDh67AD85p73ksdT1KxhE0","object":"chat.completion.chunk","created":1770933892,"model":"gpt-4.1-nano-2025-04-14","service_tier":"default","system_fingerprint":"fp_de604bd877","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"yhjoJbEF"}` + "\n\n"
	in := []byte(strings.Repeat(chunk, 1000))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(in))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/chunk")
}
