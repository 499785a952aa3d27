package pdftext

import (
	"bytes"
	"math"
	"strings"
)

// matrix moves points: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix [6]float64

var unmoved = matrix{1, 0, 0, 1, 0, 0}

// then is n after m.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// graphics is what operators change.
type graphics struct {
	page                matrix
	font                *font
	size                float64
	chars, words, scale float64 // added to each character, to each space, and times
	leading             float64
}

// pen draws one list of operators.
type pen struct {
	f          *file
	out        *writer
	state      graphics
	saved      []graphics
	text, line matrix
	forms      int
}

// draw writes the text of a page.
func (f *file) draw(p page, out *writer) error {
	var all []byte
	for _, c := range p.contents {
		if s, ok := f.value(c).(*stream); ok {
			data, err := f.unpack(s)
			if err != nil {
				return err
			}
			all = append(append(all, data...), '\n')
			if len(all) > f.most.Unpacked {
				return ErrTooMuch
			}
		}
	}
	return (&pen{f: f, out: out, state: graphics{page: unmoved, scale: 1}, text: unmoved, line: unmoved}).run(all, p.resources)
}

func (p *pen) run(data []byte, resources *dict) error {
	l := &lexer{data: data}
	var args []any
	for !p.out.full {
		v := l.object(0)
		kw, ok := v.(keyword)
		if !ok {
			if args = append(args, v); len(args) > 1000 {
				args = args[:0]
			}
			continue
		}
		if kw == end {
			return nil
		}
		if p.f.ops++; p.f.ops > p.f.most.Operators {
			p.out.full = true
		}
		if p.f.ops%1024 == 0 && p.f.ctx.Err() != nil {
			return p.f.ctx.Err()
		}
		if kw == "ID" { // the bytes of a small image
			if i := bytes.Index(l.data[l.pos:], []byte("\nEI")); i >= 0 {
				l.pos += i
			} else if i := bytes.Index(l.data[l.pos:], []byte(" EI")); i >= 0 {
				l.pos += i
			}
		} else if err := p.do(kw, args, resources); err != nil {
			return err
		}
		args = args[:0]
	}
	return nil
}

// do carries out one operator. Those that draw no text are passed over.
func (p *pen) do(op keyword, args []any, resources *dict) error {
	n := func(i int) float64 { // counted from the end
		if i >= len(args) {
			return 0
		}
		v, _ := args[len(args)-1-i].(float64)
		return v
	}
	six := func() matrix { return matrix{n(5), n(4), n(3), n(2), n(1), n(0)} }
	s := &p.state
	switch op {
	case "q":
		if len(p.saved) < 1000 {
			p.saved = append(p.saved, *s)
		}
	case "Q":
		if k := len(p.saved); k > 0 {
			*s, p.saved = p.saved[k-1], p.saved[:k-1]
		}
	case "cm":
		s.page = six().then(s.page)
	case "BT":
		p.text, p.line = unmoved, unmoved
	case "Tf":
		s.size = n(0)
		s.font = nil
		if len(args) >= 2 {
			if which, ok := args[len(args)-2].(name); ok {
				if d := p.f.dict(p.f.dict(resources.get("Font")).get(which)); d != nil {
					f, err := p.f.font(d)
					if err != nil {
						return err
					}
					s.font = f
				}
			}
		}
	case "Tc":
		s.chars = n(0)
	case "Tw":
		s.words = n(0)
	case "Tz":
		s.scale = n(0) / 100
	case "TL":
		s.leading = n(0)
	case "Td":
		p.move(n(1), n(0))
	case "TD":
		s.leading = -n(0)
		p.move(n(1), n(0))
	case "Tm":
		p.line = six()
		p.text = p.line
	case "T*":
		p.move(0, -s.leading)
	case "Tj":
		p.show(args)
	case "'":
		p.move(0, -s.leading)
		p.show(args)
	case "\"":
		s.words, s.chars = n(2), n(1)
		p.move(0, -s.leading)
		p.show(args)
	case "TJ":
		if len(args) > 0 {
			if a, ok := args[len(args)-1].(array); ok {
				for _, v := range a {
					if k, ok := v.(float64); ok {
						p.advance(-k / 1000 * s.size * s.scale)
					} else {
						p.show([]any{v})
					}
				}
			}
		}
	case "Do":
		return p.form(args, resources)
	}
	return nil
}

func (p *pen) move(x, y float64) {
	p.line = matrix{1, 0, 0, 1, x, y}.then(p.line)
	p.text = p.line
}

func (p *pen) advance(x float64) { p.text = matrix{1, 0, 0, 1, x, 0}.then(p.text) }

// show writes a text where the pen is.
func (p *pen) show(args []any) {
	if len(args) == 0 {
		return
	}
	s, ok := args[len(args)-1].(text)
	if !ok || p.state.font == nil {
		return
	}
	p.state.font.decode(s, func(chars string, width float64, space bool) {
		at := p.text.then(p.state.page)
		step := width/1000*p.state.size + p.state.chars
		if space {
			step += p.state.words
		}
		p.advance(step * p.state.scale)
		to := p.text.then(p.state.page)
		height := math.Abs(p.state.size) * math.Hypot(at[2], at[3])
		p.out.put(chars, at[4], at[5], to[4], to[5], height)
	})
}

// form draws what is drawn in several places.
func (p *pen) form(args []any, resources *dict) error {
	if len(args) == 0 || p.forms >= mostForms {
		return nil
	}
	which, _ := args[len(args)-1].(name)
	s, ok := p.f.value(p.f.dict(resources.get("XObject")).get(which)).(*stream)
	if !ok || s.dict.get("Subtype") != name("Form") {
		return nil
	}
	data, err := p.f.unpack(s)
	if err != nil {
		return err
	}
	if own := p.f.dict(s.dict.get("Resources")); own != nil {
		resources = own
	}
	inner := *p
	inner.saved, inner.forms = nil, p.forms+1
	if m := p.f.array(s.dict.get("Matrix")); len(m) == 6 {
		var move matrix
		for i := range m {
			move[i] = p.f.number(m[i])
		}
		inner.state.page = move.then(inner.state.page)
	}
	return inner.run(data, resources)
}

// writer makes lines of characters that are put somewhere.
type writer struct {
	pages    []Page
	text     strings.Builder // of the line that is being written
	line     Line
	begun    bool // there is one
	bytes    int  // written so far
	most     int
	full     bool
	endX     float64
	baseline float64
	height   float64
	blank    bool // the last character is a space, or there is none
}

// page begins a page.
func (w *writer) page() {
	w.end()
	w.pages = append(w.pages, nil)
}

// end ends the line.
func (w *writer) end() {
	if text := strings.TrimRight(w.text.String(), " "); text != "" {
		w.line.Text = text
		last := &w.pages[len(w.pages)-1]
		*last = append(*last, w.line)
		w.bytes++ // for the end of the line
	}
	w.text.Reset()
	w.line, w.begun, w.blank = Line{}, false, true
}

// done ends the last line.
func (w *writer) done() []Page {
	w.end()
	return w.pages
}

// put writes characters that are drawn from (x, y) to (toX, toY).
func (w *writer) put(chars string, x, y, toX, _, height float64) {
	if w.bytes > w.most {
		w.full = true
		return
	}
	height = max(height, 0.1)
	if w.begun {
		tall := max(height, w.height)
		down, gap := math.Abs(y-w.baseline), x-w.endX
		switch {
		case down > 1.8*tall:
			w.end()
			w.line.Apart = true
		case down > 0.6*tall, gap < -2*tall:
			w.end()
		case gap > 0.17*height && !w.blank:
			w.write(" ")
		}
	}
	// What stands a little higher or lower, as an exponent does, is on the line.
	if math.Abs(y-w.baseline) > 0.6*max(height, w.height) || height >= w.height || !w.begun {
		w.baseline, w.height = y, height
	}
	w.begun = true
	w.endX = toX
	if strings.TrimSpace(chars) != "" {
		w.line.Size = max(w.line.Size, height)
	}
	w.write(chars)
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00A0", " ", "\n", " ", "\r", "", "\x00", "")

func (w *writer) write(s string) {
	s = ligatures.Replace(s)
	if s == "" || s == " " && w.blank {
		return
	}
	w.text.WriteString(s)
	w.bytes += len(s)
	w.blank = s[len(s)-1] == ' '
}
