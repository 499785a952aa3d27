package sqlite

import (
	sqldriver "database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"unsafe"

	driver "modernc.org/sqlite"
)

// A row that holds something of a user's carries a sum over its columns, its key among them. Whoever reads the row checks
// the sum, and whoever changes the row checks the old one before making the new, so that damage is never sealed anew.
// Both happen in SQL, by the function row_sum, over values where they lie.
func init() {
	driver.MustRegisterFunction("row_sum", &driver.FunctionImpl{NArgs: -1, Deterministic: true, VolatileArgs: true, Scalar: rowSum})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowSum is the CRC-32C of values with their types and lengths, so that no text can move from one column to the next.
func rowSum(_ *driver.FunctionContext, values []sqldriver.Value) (sqldriver.Value, error) {
	var sum uint32
	var head [9]byte
	add := func(kind byte, n uint64, data []byte) {
		head[0] = kind
		binary.LittleEndian.PutUint64(head[1:], n)
		sum = crc32.Update(crc32.Update(sum, castagnoli, head[:]), castagnoli, data)
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			add('n', 0, nil)
		case int64:
			add('i', uint64(v), nil)
		case string:
			add('t', uint64(len(v)), unsafe.Slice(unsafe.StringData(v), len(v)))
		case []byte:
			add('b', uint64(len(v)), v)
		default:
			return nil, fmt.Errorf("row_sum of a %T", v)
		}
	}
	return int64(sum), nil
}

// sealed is a table whose rows carry a sum over these columns.
type sealed struct {
	table   string
	columns []string
}

func sealedTable(table, columns string) sealed { return sealed{table, strings.Fields(columns)} }

var (
	threadRows     = sealedTable("threads", "id owner status metadata config error created updated state_at head runs expires")
	runRows        = sealedTable("runs", "id thread thread_id owner assistant status request created updated started ended not_before attempt error usage")
	checkpointRows = sealedTable("checkpoints", "thread ns id parent cut run step source at versions next joins metadata done")
	blobRows       = sealedTable("blobs", "thread ns field version base run data")
	keptRows       = sealedTable("kept", "thread ns checkpoint task run outcome")
	assistantRows  = sealedTable("assistants", "id owner current created")
	versionRows    = sealedTable("assistant_versions", "id version graph name description config context metadata created")
	itemRows       = sealedTable("items", "owner ns key value created updated expires ttl")
	cronRows       = sealedTable("crons", "id owner thread assistant schedule timezone end_time next enabled request payload metadata keep created updated")
	followUpRows   = sealedTable("follow_ups", "key kind lane run thread owner payload created")
	gapRows        = sealedTable("gaps", "thread at count")

	sealedTables = []sealed{threadRows, runRows, checkpointRows, blobRows, keptRows, assistantRows, versionRows, itemRows, cronRows, followUpRows, gapRows}
)

// sum is the SQL that makes a row's sum, with other expressions for some of the columns.
func (s sealed) sum(instead map[string]string) string {
	of := make([]string, len(s.columns))
	for i, c := range s.columns {
		of[i] = c
		if e, ok := instead[c]; ok {
			of[i] = e
		}
	}
	return "row_sum(" + strings.Join(of, ", ") + ")"
}

// intact is true of rows that are as they were written. The alias is the table's in the statement.
func (s sealed) intact(alias string) string {
	qualified := make(map[string]string, len(s.columns))
	for _, c := range s.columns {
		qualified[c] = alias + "." + c
	}
	return alias + ".sum IS " + s.sum(qualified)
}

// insert is a statement whose parameters are the sealed columns in their order, and then the others.
func (s sealed) insert(others ...string) string {
	columns := append(slices.Clone(s.columns), others...)
	parameters := make([]string, len(columns))
	instead := make(map[string]string, len(s.columns))
	for i, c := range columns {
		parameters[i] = fmt.Sprint("?", i+1)
		instead[c] = parameters[i]
	}
	return "INSERT INTO " + s.table + " (" + strings.Join(columns, ", ") + ", sum) VALUES (" +
		strings.Join(parameters, ", ") + ", " + s.sum(instead) + ")"
}

// change is an update in two forms. The first touches only rows that are intact, and seals them anew. The second is for
// the bookkeeping of what must go on although a row is damaged: it leaves the sum alone, and with it the damage found.
type change struct{ sealed, plain string }

// update makes a change: of columns to expressions, in turns, where the condition holds.
func (s sealed) update(where string, set ...string) change {
	instead := make(map[string]string, len(set)/2)
	var sets []string
	for i := 0; i < len(set); i += 2 {
		instead[set[i]] = set[i+1]
		sets = append(sets, set[i]+" = "+set[i+1])
	}
	plain := "UPDATE " + s.table + " SET " + strings.Join(sets, ", ")
	return change{
		sealed: plain + ", sum = " + s.sum(instead) + " WHERE " + where + " AND " + s.intact(s.table),
		plain:  plain + " WHERE " + where,
	}
}

// copy is a statement that copies the rows of the thread ?2 to the thread ?1, where they belong to no run. The source is the
// table, joined with others where the expressions need them.
func (s sealed) copy(source string, instead map[string]string) string {
	to := map[string]string{}
	values := make([]string, len(s.columns))
	for i, c := range s.columns {
		switch e, ok := instead[c]; {
		case c == "thread":
			to[c] = "?1"
		case c == "run":
			to[c] = "NULL"
		case ok:
			to[c] = e
		default:
			to[c] = s.table + "." + c
		}
		values[i] = to[c]
	}
	return "INSERT INTO " + s.table + " (" + strings.Join(s.columns, ", ") + ", sum) SELECT " + strings.Join(values, ", ") + ", " +
		s.sum(to) + " FROM " + source + " WHERE " + s.table + ".thread = ?2"
}
