package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/piece"
)

const insertPiece = "INSERT INTO pieces (thread, hash, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

// savePieces keeps those pieces that the thread does not have yet.
func (t *tx) savePieces(ctx context.Context, threadNo int64, pieces []piece.Piece) error {
	for _, p := range pieces {
		if err := t.exec(ctx, insertPiece, threadNo, p.Hash[:], p.Data); err != nil {
			return err
		}
	}
	return nil
}

// Piece returns a piece of what the models of a thread were shown.
func (db *DB) Piece(ctx context.Context, thread string, h piece.Hash) ([]byte, error) {
	var data []byte
	err := db.reads.row(ctx, "SELECT p.data FROM threads t JOIN pieces p ON p.thread = t.no WHERE t.id = ? AND p.hash = ?", thread, h[:]).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, graph.ErrNoPiece
	}
	return data, err
}

// checkPieces looks for pieces that are not as they were written.
func (db *DB) checkPieces(ctx context.Context) (found []string, err error) {
	rows, err := db.read.QueryContext(ctx, "SELECT coalesce(t.id, '?'), p.hash, p.data FROM pieces p LEFT JOIN threads t ON t.no = p.thread")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(found) < mostFindings {
		var thread string
		var hash, data []byte
		if err := rows.Scan(&thread, &hash, &data); err != nil {
			return found, err
		}
		if len(hash) != len(piece.Hash{}) || !piece.Intact(piece.Hash(hash), data) {
			found = append(found, "thread "+thread+": a part of what a model was shown is not as it was written")
		}
	}
	return found, rows.Err()
}
