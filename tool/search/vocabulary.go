package search

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// vocabulary numbers the terms of documents. The words of a document are looked up in it while the document before is written: that takes as
// long. One goroutine looks words up; whoever has their numbers may ask for the terms meanwhile.
type vocabulary struct {
	words *table           // the number of its term, by word as it is written, so that each is brought into its form once
	terms map[string]int32 // the same by term
	met   int              // words in the table

	mu    sync.Mutex
	names []string // terms by number; the first is none
}

const (
	none      = 0         // the number of what is no word
	mostWords = 1_000_000 // after which another vocabulary is begun: files of data have no end of words
)

func newVocabulary() *vocabulary {
	return &vocabulary{words: newTable(), terms: map[string]int32{}, names: make([]string, 1)}
}

// all are the terms so far, by number.
func (v *vocabulary) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.names
}

// wording is the words of a passage, each as the number of its term.
type wording struct {
	text, trail, title []int32
	length             int // words of the text
}

// wordings are the words of a document's passages.
func (v *vocabulary) wordings(passages []Passage) []wording {
	if len(passages) == 0 {
		return nil
	}
	size := 0
	for _, p := range passages {
		size += len(p.Text)/5 + 16
	}
	all := make([]int32, 0, size)
	take := func(texts ...string) (numbers []int32, count int) {
		from := len(all)
		for _, text := range texts {
			eachWord(text, func(w string, _, _, _ int) {
				all = v.meet(all, w)
				count++
			})
		}
		return all[from:len(all):len(all)], count
	}
	title, _ := take(passages[0].Title) // which is that of all
	out := make([]wording, len(passages))
	for i, p := range passages {
		w := wording{title: title}
		w.text, w.length = take(p.Text)
		w.trail, _ = take(p.Trail...)
		out[i] = w
	}
	return out
}

// meet adds the number of a word, and with a pair of characters that of the first of them: so each character is found alone, too.
func (v *vocabulary) meet(all []int32, word string) []int32 {
	all = append(all, v.number(word))
	if word[0] >= utf8.RuneSelf {
		if r, n := utf8.DecodeRuneInString(word); n < len(word) && wide(r) {
			all = append(all, v.number(word[:n]))
		}
	}
	return all
}

func (v *vocabulary) number(word string) int32 {
	n := v.words.find(word)
	if n < 0 {
		n = v.learn(word)
	}
	return n
}

// learn takes in a word that was not met before. It keeps nothing of the text that the word is a piece of.
func (v *vocabulary) learn(word string) int32 {
	n := int32(none)
	if t := term(word); t != "" {
		known := false
		if n, known = v.terms[t]; !known {
			t = strings.Clone(t)
			v.mu.Lock()
			n = int32(len(v.names))
			v.names = append(v.names, t)
			v.mu.Unlock()
			v.terms[t] = n
		}
	}
	v.words.put(word, n)
	v.met++
	return n
}
