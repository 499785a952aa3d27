package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/tributary-ai/tributary/internal/journal"
)

// A segment is a row with the small chunks of all runs of one commit. Its bytes are
//
//	length of the list, list, sum of the list | data of the chunks | list, sum of the list, length of the list
//
// The list says of each chunk whose it is, where it belongs and how long it is. It is there twice, at either end: a list that is damaged
// would not tell which runs have lost something. Each chunk has its own sum, as everywhere.

// part is a chunk in a segment. Its run is known by its number alone.
type part struct {
	no int64 // the run's
	journal.Chunk
}

var errSegment = errors.New("neither of its lists is as it was written")

// encodeSegment returns a segment's bytes. The data of the parts lie in them from then on.
func encodeSegment(no int64, parts []part) []byte {
	list := binary.AppendUvarint(nil, uint64(len(parts)))
	size := 0
	for i := range parts {
		p := &parts[i]
		for _, n := range []uint64{uint64(p.no), uint64(p.Epoch), p.First, p.Last - p.First, uint64(p.Sum), uint64(len(p.Data))} {
			list = binary.AppendUvarint(list, n)
		}
		size += len(p.Data)
	}
	sum := listSum(no, list)
	out := make([]byte, 0, 2*len(list)+size+16)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(list)))
	out = binary.LittleEndian.AppendUint32(append(out, list...), sum)
	for i := range parts {
		p := &parts[i]
		from := len(out)
		out = append(out, p.Data...)
		p.Data = out[from:len(out):len(out)]
	}
	out = binary.LittleEndian.AppendUint32(append(out, list...), sum)
	return binary.LittleEndian.AppendUint32(out, uint32(len(list)))
}

// listSum binds a list to the row that it is in.
func listSum(no int64, list []byte) uint32 {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(no))
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, list)
}

// decodeSegment returns the parts of a segment. Whether their data is intact is not looked at; parts whose data is cut off have what there is.
func decodeSegment(no int64, data []byte) ([]part, error) {
	for _, find := range []func([]byte) ([]byte, uint32, bool){listInFront, listBehind} {
		list, sum, ok := find(data)
		if !ok || listSum(no, list) != sum {
			continue
		}
		if parts, ok := readList(list, data[min(len(list)+8, len(data)):]); ok {
			return parts, nil
		}
	}
	return nil, errSegment
}

func listInFront(data []byte) (list []byte, sum uint32, ok bool) {
	if len(data) < 8 {
		return nil, 0, false
	}
	n := int(binary.LittleEndian.Uint32(data))
	if n > len(data)-8 {
		return nil, 0, false
	}
	return data[4 : 4+n], binary.LittleEndian.Uint32(data[4+n:]), true
}

func listBehind(data []byte) (list []byte, sum uint32, ok bool) {
	if len(data) < 8 {
		return nil, 0, false
	}
	end := len(data) - 8
	n := int(binary.LittleEndian.Uint32(data[end+4:]))
	if n > end {
		return nil, 0, false
	}
	return data[end-n : end], binary.LittleEndian.Uint32(data[end:]), true
}

func readList(list, data []byte) (parts []part, ok bool) {
	ok = true
	next := func() uint64 {
		v, n := binary.Uvarint(list)
		if n <= 0 {
			ok = false
			return 0
		}
		list = list[n:]
		return v
	}
	for count := next(); ok && count > 0; count-- {
		p := part{no: int64(next())}
		p.Epoch, p.First = int(next()), next()
		p.Last = p.First + next()
		p.Sum = uint32(next())
		n := int(min(next(), uint64(len(data))))
		p.Data, data = data[:n:n], data[n:]
		if ok {
			parts = append(parts, p)
		}
	}
	return parts, ok && len(list) == 0
}

// joined makes as few chunks as it can of those of one run, which are in order. What is not as it was written stays by itself, as it
// is, so that damage is never sealed anew; and where something is missing, nothing is joined.
func joined(chunks []journal.Chunk) (out []journal.Chunk) {
	for len(chunks) > 0 {
		c := chunks[0]
		n, size := 1, len(c.Data)
		if c.Intact() {
			for n < len(chunks) && chunks[n].Epoch == c.Epoch && chunks[n].First == c.Last+1 && chunks[n].Intact() {
				c.Last, size = chunks[n].Last, size+len(chunks[n].Data)
				n++
			}
		}
		if n > 1 {
			c.Data = make([]byte, 0, size)
			for i := range chunks[:n] {
				c.Data = append(c.Data, chunks[i].Data...)
			}
			c.Seal()
		}
		out, chunks = append(out, c), chunks[n:]
	}
	return out
}
