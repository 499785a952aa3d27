package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Part begins the names of files that are being written. Whoever lists files leaves them out.
const Part = ".upload-"

// Stage writes a file that nobody sees yet into an area of a thread's folder. Remove it, whether it was placed or not.
func Stage(folder *os.Root, area string, from io.Reader) (temp string, size int64, err error) {
	temp = path.Join(area, Part+rand.Text())
	to, err := folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return temp, 0, err
	}
	size, err = io.Copy(to, from)
	return temp, size, errors.Join(err, to.Close())
}

// Place gives a staged file its name in an area, or the next that is free: a.txt, a_1.txt. Link fails where a name is taken, so that two
// who add files at once do not overwrite each other.
func Place(folder *os.Root, temp, area, name string) (placed string, err error) {
	stem, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	placed = name
	for n := 1; n < 10_000; n++ {
		if err := folder.Link(temp, path.Join(area, placed)); !errors.Is(err, fs.ErrExist) {
			return placed, err
		}
		placed = fmt.Sprintf("%s_%d%s", stem, n, ext)
	}
	return "", fmt.Errorf("there are too many files called %q", name)
}
