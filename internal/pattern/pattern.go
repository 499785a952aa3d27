// Package pattern has regular expressions that are compiled when they are first needed. A program that compiles a hundred of them
// before it does anything starts noticeably later, in every command that a person types, and needs few of them.
//
// A [Pattern] is what [regexp.Regexp] is, and is safe for concurrent use. One that does not compile panics at its first use;
// [All] lists them for the test that finds it earlier.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression.
type Pattern struct {
	text string
	get  func() *regexp.Regexp
}

var (
	mu  sync.Mutex
	all []*Pattern
)

// New makes one.
func New(text string) *Pattern {
	p := &Pattern{text: text, get: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	mu.Lock()
	defer mu.Unlock()
	all = append(all, p)
	return p
}

// All are the patterns of the program.
func All() []*Pattern {
	mu.Lock()
	defer mu.Unlock()
	return all
}

func (p *Pattern) String() string { return p.text }

// Regexp is the expression itself.
func (p *Pattern) Regexp() *regexp.Regexp { return p.get() }

// The rest is regexp's.

func (p *Pattern) Match(b []byte) bool                    { return p.get().Match(b) }
func (p *Pattern) MatchString(s string) bool              { return p.get().MatchString(s) }
func (p *Pattern) FindString(s string) string             { return p.get().FindString(s) }
func (p *Pattern) FindStringIndex(s string) []int         { return p.get().FindStringIndex(s) }
func (p *Pattern) FindSubmatch(b []byte) [][]byte         { return p.get().FindSubmatch(b) }
func (p *Pattern) FindStringSubmatch(s string) []string   { return p.get().FindStringSubmatch(s) }
func (p *Pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }
func (p *Pattern) Split(s string, n int) []string         { return p.get().Split(s, n) }
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.get().FindAllStringIndex(s, n)
}
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}
func (p *Pattern) ReplaceAllStringFunc(s string, f func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, f)
}
