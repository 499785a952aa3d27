package document

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/hex"
	"io"
	"regexp"
	"strconv"
)

// Numbers that the library takes for sizes of what it allocates, or for how often it repeats something.
const (
	mostObjects = 1_000_000 // 40 MB of table
	mostNested  = 100_000
	gap         = `(?:[\s\x00]|%[^\r\n]*[\r\n])*`
)

var (
	pdfNumbers = regexp.MustCompile(`/(Size|Columns|Index|W)` + gap + `(\[[^\]]*\]|\+?\d+)`)
	pdfDigits  = regexp.MustCompile(`\d+`)
	pdfForeign = regexp.MustCompile(`/(?:Columns|Filter)` + gap + `\d+` + gap + `\d+` + gap + `R`)
	pdfXref    = regexp.MustCompile(`(?:^|[\r\n\s])xref` + gap + `(\d+)` + gap + `(\d+)`)
	pdfSection = regexp.MustCompile(`[\r\n](\d{7,})[ \t]+(\d+)[ \t]*[\r\n]`)
	pdfCount   = regexp.MustCompile(`/N` + gap + `\d{1,6}(?:[^\d\s]|[\s\x00]+[^\d\s])`)
	pdfEscape  = regexp.MustCompile(`#[0-9A-Fa-f]{2}`)
	pdfEncrypt = regexp.MustCompile(`/Encrypt` + gap + `(?:<<|\d)`)
	pdfStream  = regexp.MustCompile(`\bstream\r?\n`)
	pdfObject  = regexp.MustCompile(`\bobj\b`)
)

// guardPDF refuses files on which the library would run out of memory, of stack or of time: those that claim impossible
// sizes, are nested without end, or unpack to more than is allowed. Those are failures that no recover catches.
func guardPDF(data []byte, limits Limits) error {
	plain := data
	if bytes.IndexByte(data, '#') >= 0 { // names may be written with escapes
		plain = pdfEscape.ReplaceAllFunc(data, func(m []byte) []byte {
			c, _ := hex.DecodeString(string(m[1:]))
			if c[0] <= ' ' || c[0] >= 0x7f {
				return m
			}
			return c
		})
	}
	if pdfEncrypt.Match(plain) {
		return refuse(Protected, "it is encrypted; save a copy without protection")
	}
	if err := guardObjects(plain); err != nil {
		return err
	}
	var whole nesting
	_, _ = whole.Write(plain) // it takes everything
	if whole.deepest > mostNested {
		return refuse(Hostile, "its objects are nested deeper than any program nests them")
	}
	inside, holders := map[int]bool{}, map[int]bool{}
	for _, re := range []*regexp.Regexp{pdfXref, pdfSection} {
		for _, m := range re.FindAllSubmatch(plain, -1) {
			if tooMany(m[1]) || tooMany(m[2]) {
				return refuse(Hostile, "it claims more objects than any file has")
			}
		}
	}
	room := limits.Expanded * 4 // pictures count too, though nothing is kept of them
	for _, at := range pdfStream.FindAllIndex(data, -1) {
		head := data[max(0, at[0]-4096):at[0]]
		if objs := pdfObject.FindAllIndex(head, -1); len(objs) > 0 {
			head = head[objs[len(objs)-1][1]:]
		}
		head = pdfEscape.ReplaceAllFunc(head, func(m []byte) []byte { c, _ := hex.DecodeString(string(m[1:])); return c })
		if bytes.Count(head, []byte("/FlateDecode"))+bytes.Count(head, []byte("/Fl ")) > 1 {
			return refuse(Hostile, "parts of it are compressed twice")
		}
		objects := bytes.Contains(head, []byte("/ObjStm"))
		if objects && !pdfCount.Match(head) {
			return refuse(Damaged, "its objects are not counted; save it again with the program that made it")
		}
		if bytes.Contains(head, []byte("/XRef")) {
			tableOf(data[at[1]:], head, inside, holders)
		}
		n, err := guardStream(data[at[1]:], head, objects, room)
		if err != nil {
			return err
		}
		if room -= n; room <= 0 {
			return refuse(Hostile, "it unpacks to more than is safe to read; split it")
		}
	}
	for id := range holders {
		if inside[id] {
			return refuse(Hostile, "objects of it are inside of each other")
		}
	}
	return nil
}

var (
	pdfWidths = regexp.MustCompile(`/W` + gap + `\[\s*(\d+)\s+(\d+)\s+(\d+)\s*\]`)
	pdfIndex  = regexp.MustCompile(`/Index` + gap + `\[([^\]]*)\]`)
	pdfColumn = regexp.MustCompile(`/Columns` + gap + `(\d+)`)
)

// tableOf notes which objects a table of objects puts into streams of objects, and which streams those are. A stream that
// is itself in a stream would be looked for without end.
func tableOf(data, head []byte, inside, holders map[int]bool) {
	w := pdfWidths.FindSubmatch(head)
	if w == nil {
		return
	}
	var width [3]int
	for i := range width {
		width[i], _ = strconv.Atoi(string(w[i+1]))
	}
	row := width[0] + width[1] + width[2]
	if row == 0 || row > 64 {
		return
	}
	r := io.Reader(bytes.NewReader(data))
	if bytes.Contains(head, []byte("/FlateDecode")) {
		z, err := zlib.NewReader(r)
		if err != nil {
			return
		}
		defer z.Close()
		r = io.LimitReader(z, 64<<20)
	}
	buf := make([]byte, row)
	if c := pdfColumn.FindSubmatch(head); c != nil && bytes.Contains(head, []byte("/Predictor")) { // each row is what it adds to the one above
		columns, _ := strconv.Atoi(string(c[1]))
		r = &summing{r: r, row: make([]byte, columns+1), sum: make([]byte, columns+1)}
	}
	first, left := 0, mostObjects
	var index [][]byte
	if m := pdfIndex.FindSubmatch(head); m != nil {
		index = pdfDigits.FindAll(m[1], -1)
	}
	total := 0
	for len(index) >= 2 || total == 0 && index == nil {
		if len(index) >= 2 {
			first, _ = strconv.Atoi(string(index[0]))
			left, _ = strconv.Atoi(string(index[1]))
			index = index[2:]
		}
		for id := first; id < first+left && total < mostObjects; id++ {
			if _, err := io.ReadFull(r, buf); err != nil {
				return
			}
			total++
			if width[0] > 0 && number256(buf[:width[0]]) == 2 {
				inside[id] = true
				holders[number256(buf[width[0]:width[0]+width[1]])] = true
			}
		}
		if index == nil {
			return
		}
	}
}

func number256(b []byte) int {
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// summing undoes the predictor of tables.
type summing struct {
	r        io.Reader
	row, sum []byte
	pending  []byte
}

func (s *summing) Read(p []byte) (int, error) {
	if len(s.pending) == 0 {
		if _, err := io.ReadFull(s.r, s.row); err != nil {
			return 0, err
		}
		for i, c := range s.row {
			s.sum[i] += c
		}
		s.pending = s.sum[1:]
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// guardObjects looks at objects as they stand in the file or in a stream of objects.
func guardObjects(b []byte) error {
	if pdfForeign.Match(b) {
		return refuse(Damaged, "it says in another object how it is compressed; save it again with another program")
	}
	for _, m := range pdfNumbers.FindAllSubmatch(b, -1) {
		for _, d := range pdfDigits.FindAll(m[2], -1) {
			if tooMany(d) {
				return refuse(Hostile, "it claims sizes that no file has")
			}
		}
	}
	return nil
}

func tooMany(digits []byte) bool {
	n, err := strconv.Atoi(string(digits))
	return err != nil || n > mostObjects
}

// guardStream unpacks a stream to see how large it is and how deep it is nested.
func guardStream(data, head []byte, objects bool, room int64) (int64, error) {
	var r io.Reader = bytes.NewReader(data)
	if bytes.Contains(head, []byte("/ASCII85Decode")) {
		end := bytes.Index(data, []byte("~>"))
		if end < 0 {
			end = len(data)
		}
		r = ascii85.NewDecoder(bytes.NewReader(data[:end]))
	}
	if bytes.Contains(head, []byte("/FlateDecode")) {
		z, err := zlib.NewReader(r)
		if err != nil {
			return 0, nil // the library will say so
		}
		defer z.Close()
		r = z
	} else {
		end := bytes.Index(data, []byte("endstream"))
		if end < 0 {
			end = len(data)
		}
		r = io.LimitReader(r, int64(end))
	}
	if bytes.Contains(head, []byte("/Subtype/Image")) || bytes.Contains(head, []byte("/Subtype /Image")) {
		n, _ := io.Copy(io.Discard, io.LimitReader(r, room)) // what is damaged is found out when it is read
		return n, nil
	}
	var nested nesting
	var all bytes.Buffer
	w := io.Writer(&nested)
	if objects {
		w = io.MultiWriter(&nested, &all)
	}
	n, _ := io.Copy(w, io.LimitReader(r, room))
	if nested.deepest > mostNested {
		return n, refuse(Hostile, "its objects are nested deeper than any program nests them")
	}
	if objects {
		return n, guardObjects(all.Bytes())
	}
	return n, nil
}

// nesting measures how deep brackets stand in each other. Those in texts count too: a text with hundreds that are never
// closed is as rare as an honest file that is nested so deep.
type nesting struct{ depth, deepest int }

func (n *nesting) Write(p []byte) (int, error) {
	for _, c := range p {
		switch c {
		case '[', '<':
			n.depth++
			n.deepest = max(n.deepest, n.depth)
		case ']', '>':
			n.depth = max(n.depth-1, 0)
		}
	}
	return len(p), nil
}
