package faults_test

import (
	"fmt"
	"regexp"
	"strings"
)

// bad is a request that must be refused.
type bad struct {
	route, method, path string
	body                string
	contentType         string
	header              [2]string
	field               string // that the answer must name; empty: none, or it does not matter
	harmless            bool   // it may also be answered, with nothing
	answers             bool   // a mistake may be told in an answer with status 200
}

func (b bad) String() string {
	s := fmt.Sprintf("%s %.120s %.120s", b.method, b.path, b.body)
	if b.contentType != "" {
		s += " as " + b.contentType
	}
	return s
}

// wrong are values that no member of a kind may have. Null is the absence of one.
var wrong = map[kind][]string{
	aString: {`7`, `true`, `[]`, `{}`},
	aWord:   {`7`, `true`, `[]`, `{}`, `"nonsense"`, `"' OR 1=1 --"`},
	anID:    {`7`, `[]`, `{}`, `"x y"`, `"a/b"`, `"../../x"`},
	aBool:   {`7`, `"yes"`, `[]`, `{}`},
	anInt:   {`-1`, `1.5`, `"x"`, `true`, `[]`, `{}`, `1e99`, `99999999999999999999`},
	aNumber: {`-1`, `"x"`, `true`, `[]`, `{}`, `1e999`},
	anObj:   {`7`, `"x"`, `true`, `[]`},
	strs:    {`7`, `"x"`, `true`, `{}`, `[1]`, `[{}]`, `[[]]`},
	words:   {`7`, `true`, `{}`, `[1]`, `["x",[]]`},
	aTime:   {`7`, `"yesterday"`, `[]`, `{}`},
	list:    {`7`, `"x"`, `true`, `{}`},
	aTTL:    {`"x"`, `true`, `[]`, `-1`, `{"ttl":"x"}`, `{"ttl":-1}`, `{"strategy":7}`},
	version: {`1.5`, `"x"`, `true`, `[]`, `{}`, `1e99`},
}

const (
	deep = 20_000
	many = 100_000
	huge = 40 << 20
)

// garbage are bodies that no route accepts. All of them are wrong as a whole.
var garbage = []string{
	`{`, `{"a"`, `{"a":}`, `{"a":1`, `{"a":1}}`, `{"a":1}{"b":2}`, `{a:1}`, `{'a':1}`, `nul`, `NaN`, `"x`, "\ufeff{}", `{"a":01}`, `{"a":.5}`, `{"a":1,}`,
	"{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\x00\"}", `{"a":"\u0000"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"\ud83d":1}`, `{"a":"\ud800\u0041"}`,
	`7`, `"x"`, `true`,
}

// heavy are bodies that are made of too much.
func heavy() []string {
	var keys strings.Builder
	keys.WriteString(`{"metadata":{`)
	for i := range many {
		if i > 0 {
			keys.WriteByte(',')
		}
		fmt.Fprintf(&keys, `"k%d":%d`, i, i)
	}
	keys.WriteString(`}}`)
	return []string{
		strings.Repeat("[", deep), strings.Repeat("[", deep) + strings.Repeat("]", deep), strings.Repeat(`{"a":`, deep) + `1` + strings.Repeat("}", deep),
		`{"metadata":` + strings.Repeat(`{"a":`, deep) + `1` + strings.Repeat("}", deep) + `}`, keys.String(),
	}
}

// strange are names of things in paths, as they are written there. There are none of them.
var strange = []string{
	"00000000-0000-4000-8000-0000000000ff", "x%20y", "%00", "a%00b", "a%2Fb", "..%2F..%2Fetc%2Fpasswd", "%ED%A0%80", "%FF", "%27%20OR%201%3D1%20--", "%7B%22%24ne%22%3A1%7D",
	"%E2%80%AE", strings.Repeat("9", 5000), "00000000-0000-4000-8000-0000000000FF%0A", "%2e%2e", "null.", "undefined%20", "-1.0",
}

// keys are names that a filter may have, by which things are never found and never broken.
var keys = []string{
	`a\"b`, `a'b`, `a.b`, `$.a`, `$ne`, `$where`, `a]`, `a[0]`, `a\\`, `' OR 1=1 --`, `\") OR 1=1 --`, `%`, `*`, `__proto__`, `\u202e`, ``, ` `, `a\nb`, `;DROP TABLE runs`, `🎈`,
}

// operators are values that other databases take for commands.
var operators = []string{`{"$ne":null}`, `{"$gt":""}`, `[]`, `"' OR 1=1 --"`, `null`, `1e308`, `{"$where":"1"}`, `[[[]]]`}

// media are types of content that cannot be JSON.
var media = []string{"text/html; charset=utf-8", "application/xml", "multipart/form-data; boundary=x", "application/octet-stream", "nonsense", "application/json; charset", ";"}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// corpus is everything that can be said wrongly to a route. names are the things that exist, by their parameter.
func corpus(pattern string, r badRoute, names map[string]string) (all []bad) {
	method, path, _ := strings.Cut(pattern, " ")
	good := strings.ReplaceAll(r.good, "<nobody>", strange[0])
	real := pathParameter.ReplaceAllStringFunc(path, func(p string) string { return names[strings.Trim(p, "{}")] })
	add := func(b bad) {
		b.route, b.answers = pattern, r.answers
		if b.method == "" {
			b.method = method
		}
		if b.path == "" {
			b.path = real
		}
		all = append(all, b)
	}
	params := pathParameter.FindAllString(path, -1)
	for i, p := range params {
		for n, id := range strange {
			if n == 0 && r.waits {
				continue
			}
			one := pathParameter.ReplaceAllStringFunc(path, func(q string) string {
				if q == p {
					return id
				}
				return names[strings.Trim(q, "{}")]
			})
			add(bad{path: one, body: good, harmless: r.forgiving && i == len(params)-1})
		}
	}
	for _, q := range r.query {
		q, field, _ := strings.Cut(q, " ")
		add(bad{path: real + q, body: good, field: field})
	}
	if r.good == "" {
		return all
	}
	for _, g := range garbage {
		add(bad{body: g, field: "body"})
	}
	add(bad{body: strings.TrimSuffix(good, "}") + `,"extra":"\ud800"}`, field: "body"})
	for _, m := range media {
		add(bad{body: good, contentType: m, field: "Content-Type"})
	}
	for name, k := range r.fields {
		for _, v := range wrong[k] {
			add(bad{body: member(good, name, v), field: name})
		}
	}
	for _, name := range r.filters {
		for _, key := range keys {
			add(bad{body: member(good, name, `{"`+key+`":1}`), harmless: true})
		}
		for _, op := range operators {
			add(bad{body: member(good, name, `{"a":`+op+`}`), harmless: true})
		}
	}
	return all
}

// member sets a member of an object. Objects of tests are flat enough for that: a name that is there already is said twice, and
// the last counts.
func member(object, name, value string) string {
	object = strings.TrimSuffix(object, "}")
	if object != "{" {
		object += ","
	}
	return object + `"` + name + `":` + value + "}"
}
