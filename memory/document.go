package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// Version is that of the form of a [Document].
const Version = "1.0"

// Document is what is remembered of one person by one agent.
type Document struct {
	Version     string    `json:"version"`
	Revision    int       `json:"revision"` // counts changes
	LastUpdated time.Time `json:"lastUpdated,omitzero"`
	User        User      `json:"user"`
	History     History   `json:"history"`
	Facts       []Fact    `json:"facts"` // oldest first
}

// User is who the person is now.
type User struct {
	WorkContext     Section `json:"workContext"`
	PersonalContext Section `json:"personalContext"`
	TopOfMind       Section `json:"topOfMind"`
}

// History is what was before.
type History struct {
	RecentMonths       Section `json:"recentMonths"`
	EarlierContext     Section `json:"earlierContext"`
	LongTermBackground Section `json:"longTermBackground"`
}

// Section is a short text about one side of a person.
type Section struct {
	Summary   string    `json:"summary"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// Fact is one thing that is remembered.
type Fact struct {
	ID         string   `json:"id"`
	Content    string   `json:"content"`
	Category   string   `json:"category"` // a word, as in preference or [Correction]
	Topics     []string `json:"topics,omitempty"`
	Confidence float64  `json:"confidence"` // from 0 to 1

	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Source is the thread in which it was said; [Manual] or [Imported] if nobody said it in one. Run and Message are where in it.
	Source  string `json:"source"`
	Run     string `json:"run,omitempty"`
	Message string `json:"message,omitempty"`

	Status   string `json:"status"`   // [Active] or [Stale]
	Scope    string `json:"scope"`    // "user", or "agent:" and the name of the custom agent whose memory it is in
	Revision int    `json:"revision"` // counts changes of the fact
}

// Words that documents use.
const (
	Correction = "correction" // the category of what a person set right
	Manual     = "manual"     // the source of what somebody wrote by hand
	Imported   = "import"     // the source of what came in a document
	Active     = "active"
	Stale      = "stale" // nobody said it, or changed it, for a long time
)

// The bounds of a document.
const (
	MostContent = 1000 // runes of a fact
	MostSummary = 2000 // runes of a section
	mostTopics  = 8
	staleAfter  = 90 * 24 * time.Hour
)

// InvalidError says what is wrong with a fact or a document. Field is its name in JSON.
type InvalidError struct {
	Field   string
	Problem string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Problem }

var word = pattern.New(`^[a-z][a-z0-9_-]{0,39}$`)

// check makes a fact that somebody gave regular, or says what is wrong with it.
func (f *Fact) check() error {
	f.Content = strings.Join(strings.Fields(f.Content), " ") // one line, which a reminder needs
	f.Category = cmp.Or(strings.ToLower(f.Category), "context")
	switch {
	case f.Content == "":
		return &InvalidError{"content", "is required"}
	case !utf8.ValidString(f.Content) || strings.ContainsRune(f.Content, 0):
		return &InvalidError{"content", "must be text"}
	case utf8.RuneCountInString(f.Content) > MostContent:
		return &InvalidError{"content", fmt.Sprintf("must have at most %d characters", MostContent)}
	case !word.MatchString(f.Category):
		return &InvalidError{"category", "must be a word of at most 40 letters, digits, _ and -, as in preference"}
	case !(f.Confidence >= 0 && f.Confidence <= 1): // NaN is not
		return &InvalidError{"confidence", "must be a number from 0 to 1"}
	case len(f.Topics) > mostTopics:
		return &InvalidError{"topics", fmt.Sprintf("must be at most %d", mostTopics)}
	}
	for _, t := range f.Topics {
		if t == "" || utf8.RuneCountInString(t) > 40 || !utf8.ValidString(t) {
			return &InvalidError{"topics", "must be texts of 1 to 40 characters"}
		}
	}
	return nil
}

func (s *Section) check(field string) error {
	s.Summary = strings.Join(strings.Fields(s.Summary), " ")
	if n := utf8.RuneCountInString(s.Summary); n > MostSummary || !utf8.ValidString(s.Summary) {
		return &InvalidError{field, fmt.Sprintf("must be a text of at most %d characters", MostSummary)}
	}
	return nil
}

// Sections are the summaries by name, in the order in which models are told of them.
func (d *Document) sections() []named {
	return []named{
		{"workContext", "Work", &d.User.WorkContext}, {"personalContext", "Personal", &d.User.PersonalContext}, {"topOfMind", "On their mind", &d.User.TopOfMind},
		{"recentMonths", "Recent months", &d.History.RecentMonths}, {"earlierContext", "Earlier", &d.History.EarlierContext},
		{"longTermBackground", "Background", &d.History.LongTermBackground},
	}
}

type named struct {
	name, title string
	*Section
}

// SectionNames are the names of the summaries.
func SectionNames() []string {
	var names []string
	for _, s := range new(Document).sections() {
		names = append(names, s.name)
	}
	return names
}

func (d *Document) fact(id string) *Fact {
	if i := slices.IndexFunc(d.Facts, func(f Fact) bool { return f.ID == id }); i >= 0 {
		return &d.Facts[i]
	}
	return nil
}

// same finds a fact that says the same in the same words.
func (d *Document) same(content string) *Fact {
	want := normal(content)
	if i := slices.IndexFunc(d.Facts, func(f Fact) bool { return normal(f.Content) == want }); i >= 0 {
		return &d.Facts[i]
	}
	return nil
}

// shown fills in what follows from time and place.
func (d *Document) shown(w Whose, now time.Time) {
	d.Version = Version
	if d.Facts == nil {
		d.Facts = []Fact{}
	}
	for i := range d.Facts {
		f := &d.Facts[i]
		f.Scope, f.Status = w.scope(), Active
		if now.Sub(f.UpdatedAt) > staleAfter {
			f.Status = Stale
		}
	}
}

// normal is a text without what does not make a difference: case, spaces, the full stop.
func normal(s string) string {
	return strings.TrimRight(strings.Join(strings.Fields(strings.ToLower(s)), " "), ".!。！ ")
}
