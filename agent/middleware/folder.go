package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// area opens one of the three folders of a thread as a root of its own, so that no link leads from one into another.
func area(folder *os.Root, name string) (*os.Root, error) {
	if err := folder.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := folder.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	is, err := root.Stat(".")
	if err == nil {
		var named fs.FileInfo
		if named, err = folder.Lstat(name); err == nil && !os.SameFile(is, named) {
			err = fmt.Errorf("the folder %s is a link", name)
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// fileName makes a name for a file of an id that somebody else made up.
func fileName(id string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if id != "" && len(id) <= 64 && !strings.ContainsFunc(id, odd) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
