package tool

import "strings"

// Risk says what a call of a tool can do, as a set: Reads|Leaves reads what is on other machines. The zero Risk is a tool
// that only computes.
type Risk uint8

const (
	Reads    Risk = 1 << iota // sees what people keep: files, memory, pages
	Writes                    // changes what people keep
	Executes                  // runs code that a model wrote
	Spends                    // costs money for each call
	Leaves                    // sends something to another machine
)

var risks = []struct {
	risk Risk
	name string
}{{Reads, "reads"}, {Writes, "writes"}, {Executes, "executes"}, {Spends, "spends"}, {Leaves, "leaves"}}

// Has reports that all classes of other are in r.
func (r Risk) Has(other Risk) bool { return r&other == other }

// String names the classes, as settings spell them: "reads, leaves". It is "none" for the zero Risk.
func (r Risk) String() string {
	var names []string
	for _, k := range risks {
		if r.Has(k.risk) {
			names = append(names, k.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// RiskOf reads the name of one class.
func RiskOf(name string) (Risk, bool) {
	for _, k := range risks {
		if k.name == name {
			return k.risk, true
		}
	}
	return 0, false
}
