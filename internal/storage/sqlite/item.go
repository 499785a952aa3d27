package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// separator ends each label of a stored namespace, so that a prefix of labels is a prefix of the text.
const separator = "\x1f"

func namespaceText(labels []string) (string, error) {
	var b strings.Builder
	for _, l := range labels {
		if strings.Contains(l, separator) {
			return "", run.Invalidf("namespace", "a label may not contain U+001F")
		}
		b.WriteString(l + separator)
	}
	return b.String(), nil
}

func namespaceLabels(text string) []string {
	return strings.Split(strings.TrimSuffix(text, separator), separator)
}

var (
	itemSelect = "SELECT ns, key, value, created, updated, expires, ttl, " + itemRows.intact("items") + " FROM items"
	// What was there before is replaced, damaged or not; when it was made stays, if that can be trusted.
	itemCreated = "CASE WHEN " + itemRows.intact("items") + " THEN items.created ELSE excluded.created END"
	putItem     = itemRows.insert() + ` ON CONFLICT DO UPDATE SET value = excluded.value, created = ` + itemCreated + `,
		updated = excluded.updated, expires = excluded.expires, ttl = excluded.ttl, sum = ` + itemRows.sum(map[string]string{
		"owner": "items.owner", "ns": "items.ns", "key": "items.key", "created": itemCreated,
		"value": "excluded.value", "updated": "excluded.updated", "expires": "excluded.expires", "ttl": "excluded.ttl"})
	refreshItem = itemRows.update("owner = ?1 AND ns = ?2 AND key = ?3", "expires", "?4")
)

func scanItem(row scanner) (run.Item, error) {
	var it run.Item
	var ns, value string
	var created, updated, expires, ttl int64
	var intact bool
	err := row.Scan(&ns, &it.Key, &value, &created, &updated, &expires, &ttl, &intact)
	if err == nil && !intact {
		err = damaged(errSum, restore+", or put or delete the item", "item %q in namespace %q", it.Key, namespaceLabels(ns))
	}
	it.Namespace, it.Value = namespaceLabels(ns), json.RawMessage(value)
	it.CreatedAt, it.UpdatedAt, it.ExpiresAt = fromMicros(created), fromMicros(updated), fromMicros(expires)
	it.TTL = time.Duration(ttl) * time.Microsecond
	return it, err
}

// PutItem stores a value, replacing the one before.
func (db *DB) PutItem(ctx context.Context, who run.Identity, it run.Item) error {
	ns, err := namespaceText(it.Namespace)
	if err != nil {
		return err
	}
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		at := micros(now())
		return tx.exec(ctx, putItem, who.Owner, ns, it.Key, string(it.Value), at, at, micros(it.ExpiresAt), it.TTL.Microseconds())
	})
}

// Item returns a value; refresh, if positive, moves its expiry to that long from now.
func (db *DB) Item(ctx context.Context, who run.Identity, namespace []string, key string, refresh time.Duration) (run.Item, error) {
	ns, err := namespaceText(namespace)
	if err != nil {
		return run.Item{}, err
	}
	at := now()
	it, err := scanItem(db.reads.row(ctx, itemSelect+" WHERE owner = ? AND ns = ? AND key = ? AND (expires = 0 OR expires > ?)",
		who.Owner, ns, key, micros(at)))
	if err != nil {
		return it, found(err, "item", key)
	}
	if refresh > 0 && !it.ExpiresAt.IsZero() {
		it.ExpiresAt = at.Add(refresh)
		err = db.write(ctx, false, func(ctx context.Context, tx *tx) error {
			return tx.change(ctx, refreshItem, who.Owner, ns, key, micros(it.ExpiresAt))
		})
	}
	return it, err
}

// ItemStamp tells one state of an item from another without reading its value, which may be long; run.ErrNotFound if there is none. Equal
// stamps are of equal values.
func (db *DB) ItemStamp(ctx context.Context, who run.Identity, namespace []string, key string) (string, error) {
	ns, err := namespaceText(namespace)
	if err != nil {
		return "", err
	}
	var updated, sum int64
	err = db.reads.row(ctx, "SELECT updated, sum FROM items WHERE owner = ? AND ns = ? AND key = ? AND (expires = 0 OR expires > ?)",
		who.Owner, ns, key, micros(now())).Scan(&updated, &sum)
	if err != nil {
		return "", found(err, "item", key)
	}
	return fmt.Sprintf("%x.%x", updated, uint64(sum)), nil
}

// DeleteItem removes a value, if it is there.
func (db *DB) DeleteItem(ctx context.Context, who run.Identity, namespace []string, key string) error {
	ns, err := namespaceText(namespace)
	if err != nil {
		return err
	}
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.exec(ctx, "DELETE FROM items WHERE owner = ? AND ns = ? AND key = ?", who.Owner, ns, key)
	})
}

// SearchItems returns a page of the values below a namespace that match.
func (db *DB) SearchItems(ctx context.Context, who run.Identity, q run.ItemQuery) ([]run.Item, error) {
	prefix, err := namespaceText(q.Prefix)
	if err != nil {
		return nil, err
	}
	var c conditions
	c.add("owner = ? AND substr(ns, 1, length(?)) = ? AND (expires = 0 OR expires > ?)", who.Owner, prefix, prefix, micros(now()))
	var filter conditions
	if err := addFilter(&filter, q.Filter); err != nil {
		return nil, err
	}
	if words := strings.Fields(q.Text); len(words) > 0 {
		list, err := json.Marshal(words)
		if err != nil {
			return nil, err
		}
		// lower, which knows only ASCII, on both sides: other letters are compared as they are.
		filter.add("NOT EXISTS (SELECT 1 FROM json_each(?) word WHERE instr(lower(items.value), lower(word.value)) = 0)", string(list))
	}
	if len(filter.texts) > 0 { // a damaged value may have matched, so it is found and told
		c.add("CASE WHEN "+itemRows.intact("items")+" THEN "+filter.all()+" ELSE 1 END", filter.args...)
	}
	// Not prepared: filters make any number of texts, and each would be kept.
	rows, err := db.read.QueryContext(ctx, itemSelect+c.where()+" ORDER BY updated DESC, ns, key LIMIT ? OFFSET ?", append(c.args, q.Limit, q.Offset)...)
	return collect(rows, classify(err), scanItem)
}

var operators = map[string]string{"$eq": "IS", "$ne": "IS NOT", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

// addFilter compares top-level keys of the value. Keys and operands are parameters; operators come from a
// fixed list.
func addFilter(c *conditions, filter json.RawMessage) error {
	if len(filter) == 0 || string(filter) == "null" {
		return nil
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(filter, &want); err != nil {
		return run.Invalidf("filter", "must be an object")
	}
	for key, operand := range want {
		var ops map[string]json.RawMessage
		if json.Unmarshal(operand, &ops) != nil || !isOperators(ops) {
			ops = map[string]json.RawMessage{"$eq": operand}
		}
		for name, v := range ops {
			op, ok := operators[name]
			if !ok {
				return run.Invalidf("filter."+key, "unknown operator %q", name)
			}
			wrapped := fmt.Sprintf("[%s]", v)
			if name == "$ne" { // a missing key differs from everything
				c.add("NOT EXISTS (SELECT 1 FROM json_each(items.value) have, json_each(?) want WHERE have.key = ? AND have.type = want.type AND have.value IS want.value)", wrapped, key)
				continue
			}
			types := "have.type = want.type"
			if op != "IS" { // integers and reals compare with each other
				types = "typeof(have.value) IN ('integer', 'real') AND typeof(want.value) IN ('integer', 'real') OR " + types
			}
			c.add("EXISTS (SELECT 1 FROM json_each(items.value) have, json_each(?) want WHERE have.key = ? AND ("+types+") AND have.value "+op+" want.value)", wrapped, key)
		}
	}
	return nil
}

func isOperators(m map[string]json.RawMessage) bool {
	if len(m) == 0 {
		return false
	}
	for k := range m {
		if !strings.HasPrefix(k, "$") {
			return false
		}
	}
	return true
}

// Namespaces lists the namespaces that hold something.
func (db *DB) Namespaces(ctx context.Context, who run.Identity, q run.NamespaceQuery) ([][]string, error) {
	rows, err := db.reads.query(ctx, "SELECT DISTINCT ns FROM items WHERE owner = ? AND (expires = 0 OR expires > ?) ORDER BY ns", who.Owner, micros(now()))
	all, err := collect(rows, err, func(row scanner) ([]string, error) {
		var ns string
		err := row.Scan(&ns)
		return namespaceLabels(ns), err
	})
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, ns := range all {
		if !matchLabels(ns, q.Prefix, false) || !matchLabels(ns, q.Suffix, true) {
			continue
		}
		if q.MaxDepth > 0 && len(ns) > q.MaxDepth {
			ns = ns[:q.MaxDepth]
		}
		if n := len(out); n > 0 && slices.Equal(out[n-1], ns) {
			continue // cut to the same depth
		}
		out = append(out, ns)
	}
	out = out[min(q.Offset, len(out)):]
	return out[:min(q.Limit, len(out))], nil
}

func matchLabels(ns, pattern []string, atEnd bool) bool {
	if len(pattern) > len(ns) {
		return false
	}
	if atEnd {
		ns = ns[len(ns)-len(pattern):]
	}
	for i, p := range pattern {
		if p != "*" && p != ns[i] {
			return false
		}
	}
	return true
}
