// Package wal reads SQLite's write-ahead logs, to find out what SQLite does not tell: that it leaves out a part of one.
//
// A log is a row of frames, each with a page of the database; a frame that commits ends a transaction. Each frame carries a
// checksum over all frames before it. SQLite reads up to the first frame whose checksum is wrong, takes that for the end, and forgets
// the rest without a word. That is right for a write that was cut off, and wrong for a damaged byte in the middle.
//
// # Laws
//
//   - [Scan] says how many frames SQLite will use ([Report.Used]), exactly.
//   - Whatever one byte of a log is changed to, if SQLite then leaves out transactions, [Report.Lost] is not zero. It is how many
//     there are, or one less if the byte was of the four that say that a frame commits.
//   - The same holds if a block of a disk is zeros, up to those that are told less because their own frames are gone.
//   - A log that nothing has happened to loses nothing, however the process that wrote it was killed, if its index is there.
//
// # What cannot be told
//
// Of the last frame alone it cannot be said whether it is damaged or was cut off in the middle of being written, unless the index
// that SQLite keeps beside the log ("-shm") has survived; then it can. Without it such a frame counts as lost. What is missing from
// the end of a log that was cut short leaves no trace either, without the index. After a power failure, frames may be missing that were never
// promised to be on the disk; they look like damage and are told as that. Frames that were damaged so that several bytes happen to
// give the right checksum are not found here; rows have checksums of their own.
package wal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

const (
	headerBytes = 32
	frameHeader = 24
	magic       = 0x377f0682 // the last bit says in which order of bytes sums are made
	format      = 3007000
)

// Report is what was found in a log.
type Report struct {
	// Frames are those that the log's latest generation has, whole or damaged; what older ones left behind them is not counted.
	Frames int
	// Used is how many frames SQLite will use: up to the last good commit before the first bad frame.
	Used int
	// Bad is the first frame that is not as it was written, counted from 1; 0 if none is known. If the log's header is, Bad is 0 and Header is true.
	Bad    int
	Header bool
	// Lost is how many transactions may be left out.
	Lost int
	// Moved says that the database file has more than the good part of the log, and is whole: the log must not be used at all, or it
	// would bring back old pages among new ones.
	Moved bool
	// Mixed says that the process died while it moved pages into the file, and that the log can no longer finish that: the
	// database may be inconsistent.
	Mixed bool
	// PageSize is the size of a frame's page in bytes.
	PageSize int
	behind   bool // the file has more than the good part of the log, and Mixed
}

// Keep is how many bytes of the log are good to use.
func (r Report) Keep() int64 {
	if r.Used == 0 || r.Moved || r.behind {
		return 0
	}
	return headerBytes + int64(r.Used)*int64(frameHeader+r.PageSize)
}

// Damaged reports whether anything is wrong with the log.
func (r Report) Damaged() bool { return r.Lost > 0 || r.Moved || r.Mixed }

// Scan reads a log. index is what the file beside it holds whose name ends in "-shm", or nothing; pageSize is the database's and counts where
// the log's own header cannot be trusted.
func Scan(log io.Reader, index []byte, pageSize int) (Report, error) {
	in := bufio.NewReaderSize(log, 32<<10)
	var head [headerBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return Report{PageSize: pageSize}, ended(err) // shorter than a header: it was never used
	}
	s := scan{report: Report{PageSize: pageSize}}
	s.begin(head, index)
	frame := make([]byte, frameHeader+s.report.PageSize)
	for {
		if _, err := io.ReadFull(in, frame); err != nil {
			if err := ended(err); err != nil {
				return s.report, err
			}
			return s.end(), nil
		}
		s.frame(frame)
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// scan is the state of reading a log.
type scan struct {
	report Report
	index  index
	order  binary.ByteOrder // of sums
	salts  [2]uint32        // name the generation
	known  bool             // salts are
	chain  sum              // up to the frame before
	n      int              // frames read
	broken bool
	first  int  // the frame at which it broke
	after  int  // commits at or behind it
	moved  int  // of these, commits that the index says are in the file
	alone  bool // it is the last of its generation
	gap    bool // frames were met that do not look like this generation's
}

// begin reads the header. One that is damaged makes SQLite forget the whole log; then the first frame says what generation it is.
func (s *scan) begin(head [headerBytes]byte, index []byte) {
	word := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	s.order = binary.LittleEndian
	if word(0)&1 != 0 {
		s.order = binary.BigEndian
	}
	s.index = readIndex(index)
	size := word(8)
	s.chain = sum{}.add(s.order, head[:24])
	whole := word(0)&^1 == magic && word(4) == format && s.chain == sum{word(24), word(28)} && size >= 512 && size <= 1<<16 && size&(size-1) == 0
	if whole {
		s.salts, s.known = [2]uint32{word(16), word(20)}, true
		s.report.PageSize = int(size)
		return
	}
	s.report.Header, s.broken = true, true
	if s.index.whole {
		s.salts, s.known = s.index.salts, true
	}
}

func (s *scan) frame(f []byte) {
	s.n++
	dbSize, salts := binary.BigEndian.Uint32(f[4:]), [2]uint32{binary.BigEndian.Uint32(f[8:]), binary.BigEndian.Uint32(f[12:])}
	if !s.known && salts != [2]uint32{} { // of a log without a header
		s.salts, s.known = salts, true
	}
	said := sum{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])}
	got := s.chain.add(s.order, f[:8]).add(s.order, f[frameHeader:])
	s.chain = said // a good frame behind a bad one goes on from what that one says
	if !s.broken && got == said && salts == s.salts {
		s.report.Frames = s.n
		if dbSize != 0 {
			s.report.Used = s.n
		}
		return
	}
	if !s.broken {
		s.broken, s.first = true, s.n
	}
	// A generation raises the first salt and draws the second by lot: a frame that has both is of this generation. One that has one of
	// them, or goes on from a good sum, is a damaged one, if it stands among its like. What is neither may be an older generation's, or damaged as a
	// whole; if frames of this generation follow, it is damaged.
	if salts != s.salts && (s.gap || salts[0] != s.salts[0] && salts[1] != s.salts[1] && got != said) {
		s.gap = true
		return
	}
	s.alone = s.n == s.first
	if !s.report.Header {
		s.report.Bad = s.first
	}
	s.report.Frames = s.n
	if dbSize != 0 {
		s.after++
		if s.n <= s.index.moved {
			s.moved++
		}
	}
}

// end says what is lost.
func (s *scan) end() Report {
	r := &s.report
	r.Lost = s.after
	ix := s.index
	if s.known && ix.whole && ix.salts == s.salts {
		s.byIndex(r)
	} else if r.Lost == 0 && s.alone {
		r.Lost = 1
	}
	if r.Lost == 0 && !r.Moved && !r.Mixed {
		r.Bad = 0
	}
	return *r
}

// byIndex uses what the index knows: how many frames were committed, and how many of them are in the database file.
func (s *scan) byIndex(r *Report) {
	ix := s.index
	if r.Used >= ix.committed && s.alone {
		r.Lost = 0 // the bad frame was never committed: it was cut off
		return
	}
	if r.Used < ix.committed {
		r.Lost = max(r.Lost, 1)
	}
	switch {
	case r.Lost == 0 || max(ix.moved, ix.moving) <= r.Used: // the good part goes as far as the file, or further
	case ix.moving <= ix.moved:
		r.Moved, r.Lost = true, s.after-s.moved
		if ix.committed > ix.moved {
			r.Lost = max(r.Lost, 1)
		}
	default:
		r.Mixed, r.behind = true, ix.moved > r.Used
	}
}

// index is what SQLite keeps in shared memory about a log. It outlives a process that is killed, and is worth nothing after the machine went
// down, which its checksum and its salts tell.
type index struct {
	whole     bool
	salts     [2]uint32
	committed int // frames
	moved     int // frames that are in the database file
	moving    int // frames that somebody had begun to move there
}

func readIndex(b []byte) index {
	const header = 48
	if len(b) < 2*header+40 || string(b[:header]) != string(b[header:2*header]) {
		return index{}
	}
	word := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	if word(0) != format || b[12] == 0 || (sum{}).add(binary.NativeEndian, b[:40]) != (sum{word(40), word(44)}) {
		return index{}
	}
	return index{
		whole: true,
		// Salts are copied from the log as they stand there.
		salts:     [2]uint32{binary.BigEndian.Uint32(b[32:]), binary.BigEndian.Uint32(b[36:])},
		committed: int(word(16)), moved: int(word(2 * header)), moving: int(word(2*header + 4 + 20 + 8)),
	}
}

// sum is SQLite's checksum of frames.
type sum [2]uint32

func (s sum) add(order binary.ByteOrder, b []byte) sum {
	if order == binary.ByteOrder(binary.LittleEndian) { // the usual one, without a call for each word
		for ; len(b) >= 8; b = b[8:] {
			s[0] += binary.LittleEndian.Uint32(b) + s[1]
			s[1] += binary.LittleEndian.Uint32(b[4:]) + s[0]
		}
		return s
	}
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
