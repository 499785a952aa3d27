package cite

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"

	"github.com/tributary-ai/tributary/item"
)

type identity [sha256.Size]byte

// identify hashes what the blocks say, leaving out what a tool or this package says about them: their
// number and their annotations.
func identify(blocks []item.Block) identity {
	h := sha256.New()
	for _, b := range blocks {
		b.Ref, b.Annotations = 0, nil
		foreign := b.Foreign
		b.Foreign = nil
		// A Block without Foreign holds strings only, so it always encodes. Sorting its keys keeps
		// old hashes when somebody reorders the struct.
		data, _ := json.Marshal(b)
		h.Write(sortedKeys(data))
		h.Write([]byte{0})
		if foreign != nil {
			h.Write(sortedKeys(foreign))
		}
		h.Write([]byte{0})
	}
	return identity(h.Sum(nil))
}

// sortedKeys rewrites a JSON object with its keys in order and without id, tags and annotations. What is not a
// JSON object is taken as it is.
func sortedKeys(data []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // 1.0 and 1e400 stay what they are
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return data
	}
	if _, err := dec.Token(); err != io.EOF {
		return data
	}
	delete(object, "id")
	delete(object, "tags")
	delete(object, "annotations")
	sorted, err := json.Marshal(object)
	if err != nil {
		return data
	}
	return sorted
}
