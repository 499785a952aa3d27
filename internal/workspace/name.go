package workspace

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// longest is how long an element of a path becomes; file systems end at 255. A name that is longer takes several folders,
// one in the other, all of which but the last end in goesOn.
const (
	longest = 200
	goesOn  = "+"
)

// place is where the folder of a thread is.
func place(t Thread) string {
	born := strconv.FormatInt(t.Born.UnixMicro(), 36)
	return filepath.Join(filepath.Join(elements(encode(t.Owner))...), filepath.Join(elements(encode(t.ID)+"."+born)...))
}

func elements(name string) []string {
	var out []string
	for len(name) > longest {
		out = append(out, name[:longest]+goesOn)
		name = name[longest:]
	}
	return append(out, name)
}

// encode spells any name with small letters, digits, - and _ alone. Ids as we make them stay as they are.
func encode(name string) string {
	if name == "" {
		return "_"
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// decode undoes encode. It reports false for what encode would not write.
func decode(name string) (string, bool) {
	if name == "_" {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '_' {
			b.WriteByte(name[i])
			continue
		}
		if i+3 > len(name) {
			return "", false
		}
		c, err := hex.DecodeString(name[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), encode(b.String()) == name
}

// threads are those that have a folder. What has another name than we would give is somebody else's, and passed over.
func threads(base *os.Root) (all []Thread, err error) {
	err = each(base, ".", "", func(where, name string) error {
		owner, ok := decode(name)
		if !ok {
			return nil
		}
		return each(base, where, "", func(_, name string) error {
			if t, ok := threadOf(owner, name); ok {
				all = append(all, t)
			}
			return nil
		})
	})
	return all, err
}

// each calls found with every name that begins in a folder, put together where it takes several folders.
func each(base *os.Root, where, begun string, found func(where, name string) error) error {
	entries, err := fs.ReadDir(base.FS(), filepath.ToSlash(where))
	if err != nil {
		return err
	}
	for _, e := range entries {
		below := filepath.Join(where, e.Name())
		switch part, more := strings.CutSuffix(e.Name(), goesOn); {
		case !e.IsDir():
		case more:
			err = each(base, below, begun+part, found)
		default:
			err = found(below, begun+part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func threadOf(owner, name string) (Thread, bool) {
	name, stamp, ok := strings.Cut(name, ".")
	born, err := strconv.ParseInt(stamp, 36, 64)
	id, known := decode(name)
	return Thread{Owner: owner, ID: id, Born: time.UnixMicro(born)}, ok && known && err == nil
}
