package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/run"
)

// micros is how times are stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// now is the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// mergeObjects sets the top-level keys of patch in base.
func mergeObjects(base, patch json.RawMessage) (json.RawMessage, error) {
	if len(patch) == 0 || string(patch) == "null" {
		return json.RawMessage(object(base)), nil
	}
	into := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(object(base)), &into); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &into); err != nil {
		return nil, err
	}
	return json.Marshal(into)
}

// object stores an optional JSON object.
func object(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	return string(raw)
}

// encode stores a value as JSON, and nothing for what is empty.
func encode[T any](v T, empty bool) (any, error) {
	if empty {
		return nil, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// decodeInto reads what encode stored.
func decodeInto[T any](col sql.NullString, v *T) error {
	if !col.Valid || col.String == "" {
		return nil
	}
	return json.Unmarshal([]byte(col.String), v)
}

// checkpointID packs a checkpoint's id; they are UUIDs, whose bytes sort like their text.
func checkpointID(id string) ([]byte, error) {
	if id == "" {
		return nil, nil
	}
	u, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %q: %w", id, err)
	}
	return u[:], nil
}

func checkpointText(b []byte) string {
	u, err := uuid.FromBytes(b)
	if err != nil {
		return ""
	}
	return u.String()
}

// found turns SQL's "no rows" into ours.
func found(err error, what, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %q: %w", what, id, run.ErrNotFound)
	}
	return err
}

func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(classified{rows})
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, classify(rows.Err())
}
