package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tributary-ai/tributary/internal/folder"
)

// KeyFile holds, in the data folder, the key with which secrets of runs are sealed. It is made when there is something to seal.
const KeyFile = "requests.key"

const keyBytes = 32

// Box seals values with the key of a folder. It is safe for concurrent use; the folder is one process's at a time.
type Box struct {
	path string

	mu   sync.Mutex
	aead cipher.AEAD // nil until it was needed
}

// NewBox is the box of a data folder.
func NewBox(dir string) *Box { return &Box{path: filepath.Join(dir, KeyFile)} }

// version is the first byte of what is sealed.
const version = 1

// Seal encrypts the values of a run.
func (b *Box) Seal(run string, v Values) ([]byte, error) {
	aead, err := b.open(true)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 1+aead.NonceSize())
	out[0] = version
	if _, err := rand.Read(out[1:]); err != nil {
		return nil, err
	}
	return aead.Seal(out, out[1:], encode(v.settings), []byte(run)), nil
}

// Open decrypts the values of a run.
func (b *Box) Open(run string, sealed []byte) (Values, error) {
	aead, err := b.open(false)
	if err != nil {
		return Values{}, err
	}
	n := 1 + aead.NonceSize()
	if len(sealed) < n || sealed[0] != version {
		return Values{}, errors.New("what was sealed is of another form, or cut short")
	}
	text, err := aead.Open(nil, sealed[1:n], sealed[n:], []byte(run))
	if err != nil {
		return Values{}, fmt.Errorf("what was sealed does not fit the key in %s", b.path)
	}
	var v Values
	if err := json.Unmarshal(text, &v.settings); err != nil {
		return Values{}, errors.New("what was sealed is no object")
	}
	return v, nil
}

// open reads the key, or makes it.
func (b *Box) open(make bool) (cipher.AEAD, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.aead != nil {
		return b.aead, nil
	}
	key, err := readKey(b.path)
	if errors.Is(err, fs.ErrNotExist) && make {
		key = newKey()
		err = folder.Write(b.path, append(hex.AppendEncode(nil, key), '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("key for the secrets of requests: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	b.aead, err = cipher.NewGCM(block)
	return b.aead, err
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	rand.Read(key) //nolint:errcheck // it never fails
	return key
}

func readKey(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(data)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s holds no key; put the file back, or move it away: then a new key is made, and runs that have not ended lose the secrets that they were given", path)
	}
	return key, nil
}
