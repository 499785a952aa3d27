package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tributary-ai/tributary/internal/folder"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/wal"
)

// kept begins what follows the log's name in the name of a copy of a damaged log.
const kept = ".damaged-"

// mendLog looks for damage in the write-ahead log before SQLite reads it, since SQLite would leave out what is behind the first
// bad byte without a word. The damaged log is copied; what is left is the part that can be used.
// Whoever opens the folder must have it for itself.
func mendLog(path string, log *slog.Logger) error {
	found, err := scanLog(path)
	if err != nil || !found.Damaged() {
		return err
	}
	name := path + "-wal"
	copied, err := keepLog(name, found)
	if err != nil {
		return fmt.Errorf("copy the damaged write-ahead log before it is mended: %w; see that the disk has space, or move the log away and lose what it holds", err)
	}
	if err := cutFile(name, found.Keep()); err != nil {
		return fmt.Errorf("mend the write-ahead log: %w", err)
	}
	// What is known of the log in shared memory was about the whole of it.
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if found.Lost == 0 && !found.Mixed {
		log.Warn("the write-ahead log was damaged; nothing is lost, for the database had all of it already", "copy", copied)
		return nil
	}
	log.Error("the write-ahead log was damaged", "transactions", found.Lost, "copy", copied, "err", logDamage(name, found))
	return nil
}

// logDamage tells what is lost with a damaged log.
func logDamage(name string, found wal.Report) error {
	what := fmt.Sprintf("up to %s may be lost", transactions(found.Lost))
	if found.Mixed {
		what += ", and pages of different times may stand beside each other"
	}
	return &run.DamageError{Lost: name, Err: errors.New(what),
		Remedy: "the server goes on with the rest; run tributary check to see whether the rest is whole, and restore a backup if more is missing than may be"}
}

func transactions(n int) string {
	if n == 1 {
		return "1 transaction"
	}
	return fmt.Sprint(n, " transactions")
}

// scanLog reads the write-ahead log of a database as it lies there.
func scanLog(path string) (wal.Report, error) {
	size, err := pageSize(path)
	if errors.Is(err, fs.ErrNotExist) {
		return wal.Report{}, nil // prepareFile knows what to say
	}
	if err != nil {
		return wal.Report{}, err
	}
	f, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return wal.Report{}, nil
	}
	if err != nil {
		return wal.Report{}, err
	}
	defer f.Close()
	return wal.Scan(f, readIndex(path+"-shm"), size)
}

// readIndex reads the beginning of SQLite's index of the log, if there is one.
func readIndex(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head) // what is missing is not used
	return head[:n]
}

// pageSize is what the database says; where it cannot, it is ours.
func pageSize(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [18]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return pageBytes, nil
	}
	size := int(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 1 << 16
	}
	if size < 512 || size&(size-1) != 0 {
		size = pageBytes
	}
	return size, nil
}

// keepLog copies a damaged log. The copy's name has the time of the log's last change and how many transactions may be lost: a
// process that dies here makes the same copy again.
func keepLog(name string, found wal.Report) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	to := fmt.Sprintf("%s%s%s-lost-%d", name, kept, info.ModTime().UTC().Format("20060102T150405Z"), found.Lost)
	return to, copyFile(name, to)
}

// copyFile copies a file so that the copy is there as a whole or not at all, for its owner alone. One that was there is replaced.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	draft := to + folder.Draft
	out, err := os.OpenFile(draft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(draft, to)
	}
	if err != nil {
		_ = os.Remove(draft)
		return err
	}
	return folder.Sync(filepath.Dir(to))
}

func cutFile(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// lostLogs are findings about logs that were damaged when the database was opened, now or at an earlier time, or are now.
func (db *DB) lostLogs() ([]string, error) {
	found := db.badLog
	copies, err := filepath.Glob(escapeGlob(db.path) + "-wal" + kept + "*")
	for _, name := range copies {
		_, told, _ := strings.Cut(name, kept)
		at, lost, ok := strings.Cut(told, "-lost-")
		if ok && lost != "0" && !strings.HasSuffix(name, folder.Draft) {
			found = append(found, fmt.Sprintf("log: the write-ahead log of %s was damaged: up to %s transactions may be lost; "+
				"it is kept as %s, which can be removed when nobody needs it", at, lost, name))
		}
	}
	return found, err
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// lookAtLog scans the log of a database that is only looked at. While a server works on it, it changes under our eyes, and what
// was to be found was found when that server started. Otherwise a damaged log is mended now, if we may: SQLite would read it,
// forget what its index knows, and the next start could not tell any more.
func (db *DB) lookAtLog(log *slog.Logger) {
	dir := filepath.Dir(db.path)
	found, err := scanLog(db.path)
	if err != nil || !found.Damaged() {
		return
	}
	lock, err := lockFolder(dir)
	if errors.Is(err, ErrLocked) {
		return
	}
	if err == nil {
		err = errors.Join(mendLog(db.path, log), lock.Close())
	}
	if err != nil {
		db.badLog = []string{"log: " + logDamage(db.path+"-wal", found).Error()}
	}
}
