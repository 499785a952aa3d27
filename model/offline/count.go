package offline

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

// countLimit keeps an answer to a length that somebody would read.
const countLimit = 100

var (
	countEnglish = pattern.New(`(?i)\bcount(?:ing)?\b(?:\s+(?:up|for me|slowly|aloud|please))*(?:\s+from\s+(` + numberPattern + `))?\s+(?:up\s+|down\s+)?to\s+(` + numberPattern + `)(?:[^\w.]|\.?$|\.\s)`)
	countDown    = pattern.New(`(?i)\bcount(?:ing)?\s+down\s+from\s+(` + numberPattern + `)(?:\s+to\s+(` + numberPattern + `))?\b`)
	countChinese = pattern.New(`(?:从\s*(` + numberPattern + `)\s*)?(?:数|计数)到\s*(` + numberPattern + `)`)
	onlyTo       = pattern.New(`(?i)^(?:and\s+|now\s+|then\s+)*(?:up\s+)?to\s+(` + numberPattern + `)\W*$`)
)

// count answers a wish to have something counted. It reports false for any other text.
func count(text string) (string, bool) {
	from, to := 1, 0
	han := false
	if m := countDown.FindStringSubmatch(text); m != nil {
		from, to = bound(m[1], 10), bound(m[2], 1)
	} else if m := countEnglish.FindStringSubmatch(text); m != nil {
		from, to = bound(m[1], 1), bound(m[2], 0)
	} else if m := countChinese.FindStringSubmatch(text); m != nil {
		from, to = bound(m[1], 1), bound(m[2], 0)
		han = true
	} else {
		return "", false
	}
	if from < 0 || to < 0 || from > countLimit || to > countLimit || from == 1 && to == 0 {
		if han {
			return fmt.Sprintf("我只能在一到%s之间数整数。", spellHan(countLimit)), true
		}
		return fmt.Sprintf("I count whole numbers between one and %s only.", spell(countLimit)), true
	}
	say := spell
	if han {
		say = spellHan
	}
	step := 1
	if to < from {
		step = -1
	}
	// One number a line: at the beginning of a line the vocabulary cuts a long number word in two, where it
	// would have a single token for the word after a space.
	var b strings.Builder
	for n := from; ; n += step {
		b.WriteString(say(n))
		if n == to {
			return b.String(), true
		}
		b.WriteByte('\n')
	}
}

// bound reads one end of a count; what is not a whole number is out of bounds.
func bound(s string, otherwise int) int {
	if s == "" {
		return otherwise
	}
	if n, ok := wholeNumber(s); ok {
		return n
	}
	return -1
}

var (
	sum = pattern.New(`(?i)^(?:(?:please|what\s+is|what's|whats|how\s+much\s+is|calculate|compute|请|请问|计算|算一下)[\s,，:：]*)*` +
		`(` + numberPattern + `)\s*(\+|-|−|–|\*|×|x|/|÷|plus|minus|times|multiplied\s+by|divided\s+by|over|加上?|减去?|乘以?|除以)\s*(` + numberPattern + `)` +
		`\s*(?:=|等于|是)?\s*(?:几|多少)?\s*[?？.。!]*$`)
	operators = map[string]string{
		"+": "+", "plus": "+", "加": "+", "加上": "+",
		"-": "−", "−": "−", "–": "−", "minus": "−", "减": "−", "减去": "−",
		"*": "×", "×": "×", "x": "×", "times": "×", "multipliedby": "×", "乘": "×", "乘以": "×",
		"/": "÷", "÷": "÷", "dividedby": "÷", "over": "÷", "除以": "÷",
	}
)

// calculate answers arithmetic with two numbers, exactly. The whole text must be the sum: a date or a range
// inside a question is not one.
func calculate(text string) (string, bool) {
	m := sum.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", false
	}
	a, okA := number(m[1])
	b, okB := number(m[3])
	op := operators[strings.ToLower(strings.Join(strings.Fields(m[2]), ""))]
	if !okA || !okB || op == "" {
		return "", false
	}
	res := new(big.Rat)
	switch op {
	case "+":
		res.Add(a, b)
	case "−":
		res.Sub(a, b)
	case "×":
		res.Mul(a, b)
	case "÷":
		if b.Sign() == 0 {
			if prose.Chinese(text) {
				return "除数不能为零。", true
			}
			return "A number cannot be divided by zero.", true
		}
		res.Quo(a, b)
	}
	value, equals := decimal(res)
	return fmt.Sprintf("%s %s %s %s %s", plain(a), op, plain(b), equals, value), true
}

func number(s string) (*big.Rat, bool) {
	if n, ok := wholeNumber(s); ok {
		return big.NewRat(int64(n), 1), true
	}
	const digits = 60 // enough for anybody, and no exponent can be written
	if len(s) > digits {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func plain(r *big.Rat) string {
	s, _ := decimal(r)
	return s
}

// decimal writes a number in digits, and the sign that says whether that is all of it.
func decimal(r *big.Rat) (digits, sign string) {
	if n, exact := r.FloatPrec(); exact {
		return r.FloatString(n), "="
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', 10, 64), "≈"
}
