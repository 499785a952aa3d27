package offline

import (
	"slices"
	"strconv"
	"strings"
)

var (
	ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens = strings.Fields("zero ten twenty thirty forty fifty sixty seventy eighty ninety")

	hanDigits = []rune("零一二三四五六七八九")
)

// spell writes a number from 0 to 100 in English words.
func spell(n int) string {
	switch {
	case n == 100:
		return "one hundred"
	case n < len(ones):
		return ones[n]
	case n%10 == 0:
		return tens[n/10]
	}
	return tens[n/10] + "-" + ones[n%10]
}

// spellHan writes a number from 0 to 100 in Chinese.
func spellHan(n int) string {
	switch {
	case n == 100:
		return "一百"
	case n < 10:
		return string(hanDigits[n])
	}
	s := "十"
	if n >= 20 {
		s = string(hanDigits[n/10]) + s
	}
	if n%10 != 0 {
		s += string(hanDigits[n%10])
	}
	return s
}

// wordNumbers maps every spelling of a number that spell and spellHan write, and their variants, to the number.
var wordNumbers = func() map[string]int {
	m := map[string]int{"a hundred": 100, "hundred": 100, "百": 100, "两": 2}
	for n := 0; n <= 100; n++ {
		m[spell(n)] = n
		m[strings.ReplaceAll(spell(n), "-", " ")] = n
		m[spellHan(n)] = n
	}
	return m
}()

// numberPattern matches a number in digits, English words or Chinese. Longer spellings come first, so that
// "twenty-one" is not read as "twenty".
var numberPattern = func() string {
	var words []string
	for w := range wordNumbers {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return `-?\d+(?:\.\d+)?|` + strings.Join(words, "|")
}()

// wholeNumber reads a match of numberPattern that has no fraction.
func wholeNumber(s string) (int, bool) {
	s = strings.ToLower(s)
	if n, ok := wordNumbers[s]; ok {
		return n, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
