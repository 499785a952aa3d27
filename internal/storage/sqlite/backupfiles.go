package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tributary-ai/tributary/internal/folder"
)

// packedTable holds the files of a backup, in pieces; the database itself has none.
const packedTable = "backup_files"

// pieceBytes is how much of a file is in one row.
const pieceBytes = 1 << 20

// packTries is how often a folder is read whose files go while it is read.
const packTries = 5

// restoredSuffix ends the name of a folder while it is restored.
const restoredSuffix = ".restored"

// packFolders puts the files of folders into a backup. Each file is whole; links and what else is no file are left out. A folder
// in which somebody removes files meanwhile is read again, so that what belongs together stays together.
func packFolders(ctx context.Context, backup, data string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	db, err := connect(backup, 1, "_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE "+packedTable+" (folder TEXT NOT NULL, name BLOB NOT NULL, mode INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (folder, name, part)) WITHOUT ROWID"); err != nil {
		return classify(err)
	}
	for _, name := range names {
		for try := 1; ; try++ {
			err := packFolder(ctx, db, data, name)
			if errors.Is(err, fs.ErrNotExist) && try < packTries {
				continue
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("back up the folder %s: %w", name, err)
			}
			break // what still goes while it is read is gone
		}
	}
	return nil
}

// packFolder puts the files of a folder into a backup. It goes on after a file that has gone, and says so in the end.
func packFolder(ctx context.Context, db *sql.DB, data, name string) error {
	root, err := os.OpenRoot(filepath.Join(data, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer tx.Rollback() //nolint:errcheck // done already, if all went well
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+packedTable+" WHERE folder = ?", name); err != nil {
		return classify(err)
	}
	gone, err := packBelow(ctx, tx, root, name, ".")
	if err == nil {
		err = classify(tx.Commit())
	}
	if err == nil && gone {
		err = fs.ErrNotExist
	}
	return err
}

// packBelow packs what is below a folder. [fs.WalkDir] would pass over names that are not UTF-8.
func packBelow(ctx context.Context, tx *sql.Tx, root *os.Root, name, below string) (gone bool, err error) {
	dir, err := root.Open(below)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist), unless(err, fs.ErrNotExist)
	}
	entries, err := dir.ReadDir(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return errors.Is(err, fs.ErrNotExist), unless(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		at := filepath.Join(below, e.Name())
		var missing bool
		switch {
		case e.IsDir():
			missing, err = packBelow(ctx, tx, root, name, at)
		case e.Type().IsRegular():
			err = packFile(ctx, tx, root, name, at)
			missing, err = errors.Is(err, fs.ErrNotExist), unless(err, fs.ErrNotExist)
		}
		if err != nil {
			return gone, err
		}
		gone = gone || missing
	}
	return gone, nil
}

func unless(err, is error) error {
	if errors.Is(err, is) {
		return nil
	}
	return err
}

func packFile(ctx context.Context, tx *sql.Tx, root *os.Root, name, at string) error {
	f, err := root.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, min(pieceBytes, info.Size()+1))
	for part := 0; ; part++ {
		n, err := io.ReadFull(f, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n > 0 || part == 0 {
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+packedTable+" VALUES (?, ?, ?, ?, ?)", name, []byte(at), int64(info.Mode().Perm()), part, buf[:n]); err != nil {
				return classify(err)
			}
		}
		if err != nil { // the end
			return nil
		}
	}
}

// unpackFolders writes the files of a backup beside the folders that they are for. Nothing leads out of them, whatever the backup says.
func unpackFolders(ctx context.Context, backup, data string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	db, err := connect(backup, 1, "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, name := range names {
		draft := filepath.Join(data, name+restoredSuffix)
		if err := errors.Join(os.RemoveAll(draft), os.Mkdir(draft, 0o700)); err != nil {
			return err
		}
		root, err := os.OpenRoot(draft)
		if err != nil {
			return err
		}
		if err := errors.Join(unpackFolder(ctx, db, root, name), root.Close(), folder.Sync(draft)); err != nil {
			return fmt.Errorf("restore the folder %s: %w", name, err)
		}
	}
	return nil
}

func unpackFolder(ctx context.Context, db *sql.DB, root *os.Root, name string) error {
	rows, err := db.QueryContext(ctx, "SELECT name, mode, part, data FROM "+packedTable+" WHERE folder = ? ORDER BY name, part", name)
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	var to *os.File
	end := func() error {
		if to == nil {
			return nil
		}
		err := errors.Join(to.Sync(), to.Close())
		to = nil
		return err
	}
	for rows.Next() {
		var at, data []byte
		var mode int64
		var part int
		if err := rows.Scan(&at, &mode, &part, &data); err != nil {
			return errors.Join(classify(err), end())
		}
		if part == 0 {
			if err := end(); err != nil {
				return err
			}
			if err := root.MkdirAll(filepath.Dir(string(at)), 0o700); err != nil {
				return err
			}
			if to, err = root.OpenFile(string(at), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fs.FileMode(mode)&0o700|0o600); err != nil {
				return err
			}
		}
		if to == nil {
			return fmt.Errorf("%q has no beginning", at)
		}
		if _, err := to.Write(data); err != nil {
			return errors.Join(err, end())
		}
	}
	return errors.Join(classify(rows.Err()), end())
}
