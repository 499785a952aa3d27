package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/internal/run"
)

const assistantColumns = "a.id, a.owner, v.graph, v.version, v.name, v.description, v.config, v.context, v.metadata, a.created, v.created"

// assistantIntact is true of assistants whose two rows are as they were written.
var assistantIntact = assistantRows.intact("a") + " AND " + versionRows.intact("v")

var assistantSelect = "SELECT " + assistantColumns + ", " + assistantIntact

const assistantFrom = " FROM assistants a JOIN assistant_versions v ON v.id = a.id "

// mine is true of assistants that the caller may see: its own and the system's.
const mine = "(a.owner = ? OR a.owner = '')"

func scanAssistant(row scanner) (run.Assistant, error) {
	var a run.Assistant
	var description sql.NullString
	var config, settings, metadata string
	var created, updated int64
	var intact bool
	err := row.Scan(&a.ID, &a.Owner, &a.Graph, &a.Version, &a.Name, &description, &config, &settings, &metadata, &created, &updated, &intact)
	if err == nil && !intact {
		err = damaged(errSum, restore+", or delete the assistant and make it again", "version %d of assistant %q", a.Version, a.ID)
	}
	if description.Valid {
		a.Description = &description.String
	}
	a.Config, a.Context, a.Metadata = json.RawMessage(config), json.RawMessage(settings), json.RawMessage(metadata)
	a.CreatedAt, a.UpdatedAt = fromMicros(created), fromMicros(updated)
	return a, err
}

var (
	insertAssistant = assistantRows.insert() + " ON CONFLICT DO NOTHING"
	insertVersion   = versionRows.insert()
	setCurrent      = assistantRows.update("id = ?1", "current", "?2")
)

func (t *tx) putVersion(ctx context.Context, a run.Assistant) error {
	return t.exec(ctx, insertVersion,
		a.ID, a.Version, a.Graph, a.Name, a.Description, object(a.Config), object(a.Context), object(a.Metadata), micros(a.UpdatedAt))
}

// CreateAssistant inserts the first version of an assistant. An identity without an owner is the system's.
func (db *DB) CreateAssistant(ctx context.Context, who run.Identity, a run.Assistant) (run.Assistant, error) {
	a.Owner, a.Version, a.UpdatedAt = who.Owner, 1, a.CreatedAt
	a.Config, a.Context, a.Metadata = json.RawMessage(object(a.Config)), json.RawMessage(object(a.Context)), json.RawMessage(object(a.Metadata))
	err := db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, insertAssistant, a.ID, a.Owner, a.Version, micros(a.CreatedAt))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("assistant %q: %w", a.ID, run.ErrExists)
		}
		return tx.putVersion(ctx, a)
	})
	return a, err
}

// Assistant returns the current version of an assistant.
func (db *DB) Assistant(ctx context.Context, who run.Identity, id string) (run.Assistant, error) {
	a, err := scanAssistant(db.reads.row(ctx, assistantSelect+assistantFrom+"AND v.version = a.current WHERE a.id = ? AND "+mine, id, who.Owner))
	return a, found(err, "assistant", id)
}

var assistantSort = map[string]string{"assistant_id": "a.id", "graph_id": "v.graph", "name": "v.name", "created_at": "a.created", "updated_at": "v.created"}

// SearchAssistants returns a page of assistants and the number of all that match.
func (db *DB) SearchAssistants(ctx context.Context, who run.Identity, q run.AssistantQuery) ([]run.Assistant, int, error) {
	var c conditions
	c.add(mine, who.Owner)
	if q.Graph != "" {
		c.add("v.graph = ?", q.Graph)
	}
	if q.Name != "" {
		c.add("instr(lower(v.name), ?) > 0", strings.ToLower(q.Name))
	}
	if len(q.Metadata) > 0 {
		c.add(contains, string(q.Metadata))
	}
	from := assistantFrom + "AND v.version = a.current" + c.where()
	var total int
	if err := db.reads.row(ctx, "SELECT count(*)"+from, c.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if q.Limit == 0 {
		return nil, total, nil
	}
	rows, err := db.reads.query(ctx, assistantSelect+from+
		sortOrder(q.SortBy, q.Asc, assistantSort, "a.created", "a.id")+" LIMIT ? OFFSET ?", append(c.args, q.Limit, q.Offset)...)
	list, err := collect(rows, err, scanAssistant)
	return list, total, err
}

// own returns an assistant that the caller may change: its own, not the system's.
func (t *tx) own(ctx context.Context, who run.Identity, id string) (run.Assistant, error) {
	a, err := scanAssistant(t.row(ctx, assistantSelect+assistantFrom+"AND v.version = a.current WHERE a.id = ? AND a.owner = ?", id, who.Owner))
	return a, found(err, "assistant", id)
}

// PatchAssistant makes a new version.
func (db *DB) PatchAssistant(ctx context.Context, who run.Identity, id string, p run.AssistantPatch) (a run.Assistant, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) (err error) {
		if a, err = tx.own(ctx, who, id); err != nil {
			return err
		}
		if err := tx.row(ctx, "SELECT max(version) + 1 FROM assistant_versions WHERE id = ?", id).Scan(&a.Version); err != nil {
			return err
		}
		if p.Graph != nil {
			a.Graph = *p.Graph
		}
		if p.Name != nil {
			a.Name = *p.Name
		}
		if p.Description != nil {
			a.Description = p.Description
		}
		if p.Config != nil {
			a.Config = p.Config
		}
		if p.Context != nil {
			a.Context = p.Context
		}
		if a.Metadata, err = mergeObjects(a.Metadata, p.Metadata); err != nil {
			return err
		}
		a.UpdatedAt = now()
		if err := tx.putVersion(ctx, a); err != nil {
			return err
		}
		return tx.change(ctx, setCurrent, id, a.Version)
	})
	return a, err
}

// DeleteAssistant removes an assistant with all its versions.
func (db *DB) DeleteAssistant(ctx context.Context, who run.Identity, id string) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		var mine bool // and not its rows, which may be damaged: that is a reason to delete it
		if err := tx.row(ctx, "SELECT EXISTS (SELECT 1 FROM assistants WHERE id = ? AND owner = ?)", id, who.Owner).Scan(&mine); err != nil {
			return err
		}
		if !mine {
			return fmt.Errorf("assistant %q: %w", id, run.ErrNotFound)
		}
		if err := tx.exec(ctx, "DELETE FROM assistant_versions WHERE id = ?", id); err != nil {
			return err
		}
		return tx.exec(ctx, "DELETE FROM assistants WHERE id = ?", id)
	})
}

// AssistantVersions lists versions, newest first.
func (db *DB) AssistantVersions(ctx context.Context, who run.Identity, id string, metadata json.RawMessage, limit, offset int) ([]run.Assistant, error) {
	if _, err := db.Assistant(ctx, who, id); err != nil {
		return nil, err
	}
	var c conditions
	c.add("a.id = ?", id)
	if len(metadata) > 0 {
		c.add(contains, string(metadata))
	}
	rows, err := db.reads.query(ctx, assistantSelect+assistantFrom+c.where()+" ORDER BY v.version DESC LIMIT ? OFFSET ?", append(c.args, limit, offset)...)
	return collect(rows, err, scanAssistant)
}

// SetLatestAssistant makes a version the current one.
func (db *DB) SetLatestAssistant(ctx context.Context, who run.Identity, id string, version int) (a run.Assistant, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		if _, err := tx.own(ctx, who, id); err != nil {
			return err
		}
		var exists bool
		if err := tx.row(ctx, "SELECT EXISTS (SELECT 1 FROM assistant_versions WHERE id = ? AND version = ?)", id, version).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("assistant %q, version %d: %w", id, version, run.ErrNotFound)
		}
		if err := tx.change(ctx, setCurrent, id, version); err != nil {
			return err
		}
		a, err = tx.own(ctx, who, id)
		return err
	})
	return a, err
}
