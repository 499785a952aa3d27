package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/piece"
)

// A long text reaches the store several times: a page that a tool fetched is in the event of its result, in that of the node's
// update, in the state, and in what the model is shown next. So an event or a part of a state that is long is cut into pieces,
// of which a thread has each once, and the row holds a reference in its place:
//
//	@<hash of the root piece, hexadecimal> <length of the text>
//
// An & in the place of the @ says that the pieces spell < > & as themselves, where the text has their escapes: states have them,
// events and requests have not, and all should have their pieces in common. A reference cannot be mistaken for a text: neither a
// JSON value nor an event's line begins so. Pieces are written in the transaction of the row, before it, and go with the thread.

// Texts of these lengths are kept in pieces. What is shorter costs less as it is, and what is longer is kept so only where that can be
// done ahead (see ahead.go): the pieces of megabytes take longer to make and to write than everybody's tokens should wait.
const (
	longText    = 16 << 10
	longestText = 1 << 20
)

func isLong(text []byte) bool { return len(text) >= longText && len(text) <= longestText }

// reference names a text that is kept in pieces.
type reference struct {
	root    piece.Hash
	size    int
	escaped bool
}

// mostReference is about how long a reference is at most.
const mostReference = 64

func (r reference) String() string {
	mark := '@'
	if r.escaped {
		mark = '&'
	}
	return fmt.Sprintf("%c%v %d", mark, r.root, r.size)
}

// referenceIn reads what stands in the place of a text, if it is a reference.
func referenceIn(stored []byte) (r reference, ok bool) {
	if len(stored) == 0 || stored[0] != '@' && stored[0] != '&' {
		return r, false
	}
	name, size, _ := strings.Cut(string(stored[1:]), " ")
	root, err := piece.ParseHash(name)
	if err != nil {
		return r, false
	}
	n, err := strconv.Atoi(size)
	return reference{root, n, stored[0] == '&'}, err == nil && n >= 0
}

// cutText cuts a text into pieces and returns what is stored in its place.
func cutText(text []byte) (stored []byte, root piece.Hash, pieces map[piece.Hash][]byte) {
	plain, escaped := withoutEscapes(text)
	all := piece.Split(plain)
	root = all[len(all)-1].Hash
	pieces = make(map[piece.Hash][]byte, len(all))
	for _, p := range all {
		pieces[p.Hash] = p.Data
	}
	return []byte(reference{root, len(text), escaped}.String()), root, pieces
}

// shorten keeps a long text in pieces, in the transaction of what refers to it.
func (t *tx) shorten(ctx context.Context, threadNo int64, text []byte) ([]byte, error) {
	if !isLong(text) {
		return text, nil
	}
	stored, root, pieces := cutText(text)
	return stored, t.keep(ctx, threadNo, root, pieces)
}

// withoutEscapes spells < > & as themselves in JSON that has nothing but their escapes, so that json.HTMLEscape undoes it; any
// other text is returned as it is.
func withoutEscapes(text []byte) (plain []byte, changed bool) {
	if !bytes.Contains(text, []byte(`\u00`)) || bytes.ContainsAny(text, "<>&") {
		return text, false
	}
	plain = make([]byte, 0, len(text))
	for rest := text; len(rest) > 0; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			plain = append(plain, rest...)
			break
		}
		plain, rest = append(plain, rest[:at]...), rest[at:]
		n := min(2, len(rest)) // a backslash that is escaped is no beginning of an escape
		if len(rest) >= 6 && rest[1] == 'u' {
			n = 6
		}
		switch string(rest[:n]) {
		case `\u003c`:
			plain = append(plain, '<')
		case `\u003e`:
			plain = append(plain, '>')
		case `\u0026`:
			plain = append(plain, '&')
		default:
			plain = append(plain, rest[:n]...)
		}
		rest = rest[n:]
	}
	if len(plain) == len(text) || bytes.Contains(plain, lineSeparator) || bytes.Contains(plain, paragraphSeparator) {
		return text, false
	}
	return plain, true
}

// What json.HTMLEscape escapes beside < > and &.
var lineSeparator, paragraphSeparator = []byte("\u2028"), []byte("\u2029")

func withEscapes(plain []byte) []byte {
	var b bytes.Buffer
	json.HTMLEscape(&b, plain)
	return b.Bytes()
}

// keep stores a piece and those that it lists. What is below a list that the thread has is there already: lists are never stored
// without it, and pieces are deleted only together.
func (t *tx) keep(ctx context.Context, threadNo int64, h piece.Hash, pieces map[piece.Hash][]byte) error {
	n, err := t.execCount(ctx, insertPiece, threadNo, h[:], pieces[h])
	if err != nil || n == 0 {
		return err
	}
	for below := range piece.Below(pieces[h]) {
		if err := t.keep(ctx, threadNo, below, pieces); err != nil {
			return err
		}
	}
	return nil
}

// shortenText is shorten for a column of text that may be empty.
func shortenText(ctx context.Context, by shortener, threadNo int64, text any) (any, error) {
	s, ok := text.(string)
	if !ok || len(s) < longText {
		return text, nil
	}
	short, err := by.shorten(ctx, threadNo, []byte(s))
	return string(short), err
}

// hasLong reports whether a chunk has a line that is to be kept in pieces.
func hasLong(data []byte) bool {
	for len(data) >= longText {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if isLong(line) {
			return true
		}
		data = rest
	}
	return false
}

// shortenLines is shorten for each line of a chunk. The data is not changed.
func shortenLines(ctx context.Context, by shortener, threadNo int64, data []byte) ([]byte, error) {
	size := 0
	for line := range bytes.Lines(data) {
		if len(line) > longText {
			line = line[:mostReference]
		}
		size += len(line)
	}
	out := make([]byte, 0, size)
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		short, err := by.shorten(ctx, threadNo, line)
		if err != nil {
			return nil, err
		}
		if out = append(out, short...); ended {
			out = append(out, '\n')
		}
		data = rest
	}
	return out, nil
}

// Pieces that a list names are read with one question: there are a dozen or two to a list.
const (
	onePiece  = "SELECT hash, data FROM pieces WHERE thread = ?1 AND hash = unhex(?2)"
	manyPiece = "SELECT hash, data FROM pieces WHERE thread = ?1 AND hash IN (SELECT unhex(value) FROM json_each(?2))"
)

// asking is how statements are run: on the readers' connections, or within a transaction.
type asking interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, text string, args ...any) scanner
}

// shelf reads the pieces of one text of a thread.
type shelf struct {
	db       asking
	threadNo int64
	at       map[piece.Hash][]byte
}

func (s *shelf) fetch(ctx context.Context, text, names string) error {
	rows, err := s.db.query(ctx, text, s.threadNo, names)
	_, err = collect(rows, err, func(row scanner) (struct{}, error) {
		var hash, data []byte
		err := row.Scan(&hash, &data)
		if err == nil && len(hash) == len(piece.Hash{}) {
			s.at[piece.Hash(hash)] = data
		}
		return struct{}{}, err
	})
	return err
}

func (s *shelf) get(ctx context.Context, h piece.Hash) ([]byte, error) {
	data, ok := s.at[h]
	if !ok {
		if err := s.fetch(ctx, onePiece, h.String()); err != nil {
			return nil, err
		}
		if data, ok = s.at[h]; !ok {
			return nil, errMissing
		}
	}
	var names []string
	for below := range piece.Below(data) {
		if _, ok := s.at[below]; !ok {
			names = append(names, hex.EncodeToString(below[:]))
		}
	}
	if len(names) > 0 {
		list, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		if err := s.fetch(ctx, manyPiece, string(list)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// whole puts a text together.
func (r reference) whole(ctx context.Context, db asking, threadNo int64) ([]byte, error) {
	s := &shelf{db: db, threadNo: threadNo, at: map[piece.Hash][]byte{}}
	return s.join(ctx, r)
}

func (s *shelf) join(ctx context.Context, r reference) ([]byte, error) {
	text, err := piece.Join(r.root, func(h piece.Hash) ([]byte, error) { return s.get(ctx, h) })
	if err == nil && r.escaped {
		text = withEscapes(text)
	}
	if err == nil && len(text) != r.size {
		err = fmt.Errorf("it has %d bytes and had %d: %w", len(text), r.size, errSum)
	}
	return text, err
}

// lengthen undoes shorten.
func (s *states) lengthen(ctx context.Context, stored []byte, format string, args ...any) ([]byte, error) {
	r, ok := referenceIn(stored)
	if !ok {
		return stored, nil
	}
	text, err := r.whole(ctx, s, s.threadNo)
	if isLost(err) {
		return nil, s.lost(err, format, args...)
	}
	return text, err
}

// lengthenText is lengthen for a column of text that may be empty.
func (s *states) lengthenText(ctx context.Context, text sql.NullString, format string, args ...any) (sql.NullString, error) {
	if len(text.String) == 0 || text.String[0] != '@' && text.String[0] != '&' {
		return text, nil
	}
	whole, err := s.lengthen(ctx, []byte(text.String), format, args...)
	return sql.NullString{String: string(whole), Valid: true}, err
}

// hasReference reports whether a line of a chunk is kept in pieces.
func hasReference(data []byte) bool {
	return len(data) > 0 && (data[0] == '@' || data[0] == '&') || bytes.Contains(data, []byte("\n@")) || bytes.Contains(data, []byte("\n&"))
}

// wholeSize is how long a chunk is when its lines are whole.
func wholeSize(data []byte) int {
	size := len(data)
	if hasReference(data) {
		for line := range bytes.Lines(data) {
			if r, ok := referenceIn(bytes.TrimSuffix(line, []byte{'\n'})); ok {
				size += r.size
			}
		}
	}
	return size
}

// lengthenLines undoes shortenLines. What cannot be had whole is an error that isLost.
func lengthenLines(ctx context.Context, db asking, threadNo int64, data []byte) ([]byte, error) {
	if !hasReference(data) {
		return data, nil
	}
	out := make([]byte, 0, wholeSize(data))
	for line := range bytes.Lines(data) {
		body := bytes.TrimSuffix(line, []byte{'\n'})
		r, ok := referenceIn(body)
		if !ok {
			out = append(out, line...)
			continue
		}
		whole, err := r.whole(ctx, db, threadNo)
		if err != nil {
			return nil, err
		}
		out = append(append(out, whole...), line[len(body):]...)
	}
	return out, nil
}

// isLost reports that a text's pieces are missing or damaged, and not that they could not be read now.
func isLost(err error) bool {
	return errors.Is(err, errMissing) || errors.Is(err, errSum) || errors.Is(err, piece.ErrDamaged)
}

// longState finds the long texts of the states of threads.
const longState = `SELECT thread, data FROM blobs WHERE substr(data, 1, 1) IN (x'40', x'26')
	UNION ALL SELECT thread, CAST(done AS BLOB) FROM checkpoints WHERE substr(done, 1, 1) IN ('@', '&')
	UNION ALL SELECT thread, CAST(outcome AS BLOB) FROM kept WHERE substr(outcome, 1, 1) IN ('@', '&')`

// longRow is one of them.
type longRow struct {
	threadNo int64
	stored   []byte
}

func scanLong(row scanner) (l longRow, err error) { return l, row.Scan(&l.threadNo, &l.stored) }

// copyLong copies the pieces that a thread's state refers to.
func (t *tx) copyLong(ctx context.Context, to, from int64) error {
	rows, err := t.query(ctx, "SELECT * FROM ("+longState+") WHERE thread = ?", from)
	texts, err := collect(rows, err, scanLong)
	if err != nil {
		return err
	}
	for _, l := range texts {
		r, ok := referenceIn(l.stored)
		if !ok {
			continue // which checkState would have found
		}
		s := &shelf{db: t, threadNo: from, at: map[piece.Hash][]byte{}}
		if _, err := s.join(ctx, r); err != nil {
			if isLost(err) {
				err = damaged(err, restore+", or delete the thread", "a part of the state of the thread that is to be copied")
			}
			return err
		}
		if err := t.keep(ctx, to, r.root, s.at); err != nil {
			return err
		}
	}
	return nil
}

// checkLong looks for texts in the states of threads whose pieces are not all there.
func (db *DB) checkLong(ctx context.Context) (found []string, err error) {
	rows, err := db.reads.query(ctx, longState)
	texts, err := collect(rows, err, scanLong)
	if err != nil {
		return nil, err
	}
	for _, l := range texts {
		r, ok := referenceIn(l.stored)
		if ok {
			_, err = r.whole(ctx, &db.reads, l.threadNo)
		}
		if err != nil && !isLost(err) {
			return found, err
		}
		if (err != nil || !ok) && len(found) < mostFindings {
			var thread string
			if err := db.reads.row(ctx, "SELECT coalesce((SELECT id FROM threads WHERE no = ?), '?')", l.threadNo).Scan(&thread); err != nil {
				return found, err
			}
			found = append(found, "thread "+thread+": a long text of its state is missing or not as it was written")
		}
	}
	return found, nil
}
