package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// hidden is what is shown in the place of a secret.
const hidden = "[secret]"

// Names of the members of settings that hold secrets.
const (
	named   = "secrets"      // values by name, for skills and tools
	servers = "mcp_settings" // servers, with their headers
)

// Values are what a request brought in confidence; the zero value is nothing.
type Values struct {
	settings object // of the shape of the settings that they were taken from
}

type object = map[string]json.RawMessage

// IsZero reports that there are none.
func (v Values) IsZero() bool { return len(v.settings) == 0 }

// Secret is the one of a name, from the member "secrets".
func (v Values) Secret(name string) (value string, ok bool) {
	var all object
	if json.Unmarshal(v.settings[named], &all) != nil {
		return "", false
	}
	raw, ok := all[name]
	if !ok {
		return "", false
	}
	if json.Unmarshal(raw, &value) != nil { // a number, say
		value = string(raw)
	}
	return value, true
}

// Fill puts the values back to where they stood in settings, for whoever uses them.
func (v Values) Fill(settings json.RawMessage) json.RawMessage {
	if v.IsZero() {
		return settings
	}
	return merge(settings, encode(v.settings))
}

// String hides the values.
func (v Values) String() string { return hidden }

// GoString hides the values.
func (v Values) GoString() string { return hidden }

// Format hides the values, whatever the verb.
func (v Values) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// LogValue hides the values.
func (v Values) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON hides the values.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(hidden) }

// Take takes the secrets out of settings: an object, or nothing. Anything else has none. Settings without a member that could
// hold secrets are returned as they are.
func Take(settings json.RawMessage) (rest json.RawMessage, taken Values) {
	var members object
	if len(settings) == 0 || json.Unmarshal(settings, &members) != nil {
		return settings, Values{}
	}
	found, spoken := object{}, false
	for name, value := range members {
		switch {
		case strings.EqualFold(name, named):
			spoken = true
			delete(members, name)
			if !empty(value) {
				found[named] = merge(found[named], value)
			}
		case strings.EqualFold(name, servers):
			spoken = true
			left, secret := fromServers(value)
			members[name] = left
			if secret != nil {
				found[name] = secret
			}
		}
	}
	if !spoken {
		return settings, Values{}
	}
	// Also if nothing was found: a member that stands there twice is now there once, as the one that counts.
	return encode(members), Values{found}
}

// fromServers takes the secrets out of a description of servers, of whatever shape; nil if there are none.
func fromServers(raw json.RawMessage) (rest, taken json.RawMessage) {
	var members object
	if json.Unmarshal(raw, &members) != nil || members == nil {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return raw, nil
		}
		for _, element := range list {
			if _, secret := fromServers(element); secret != nil {
				return json.RawMessage("[]"), raw // elements have no names by which they could be put back
			}
		}
		return raw, nil
	}
	found := object{}
	for name, value := range members {
		switch {
		case strings.EqualFold(name, "headers"), strings.EqualFold(name, "env"):
			delete(members, name)
			if !empty(value) {
				found[name] = value
			}
		case strings.EqualFold(name, "url") && telling(value):
			members[name], found[name] = bare(value), value
		default:
			left, secret := fromServers(value)
			members[name] = left
			if secret != nil {
				found[name] = secret
			}
		}
	}
	if len(found) == 0 {
		return encode(members), nil
	}
	return encode(members), encode(found)
}

// telling reports that an address has more than a scheme, a host and a path.
func telling(raw json.RawMessage) bool {
	var address string
	return json.Unmarshal(raw, &address) == nil && strings.ContainsAny(address, "?#@")
}

// bare is an address without that; nothing, if it cannot be told what is what.
func bare(raw json.RawMessage) json.RawMessage {
	var address string
	if json.Unmarshal(raw, &address) == nil {
		if u, err := url.Parse(address); err == nil && u.Opaque == "" {
			shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
			if text, err := json.Marshal(shown.String()); err == nil && !telling(text) {
				return text
			}
		}
	}
	return json.RawMessage(`""`)
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]":
		return true
	}
	return false
}

// merge puts one value over another; objects are merged by their members.
func merge(under, over json.RawMessage) json.RawMessage {
	var a, b object
	if json.Unmarshal(over, &b) != nil || b == nil || (len(under) > 0 && json.Unmarshal(under, &a) != nil) {
		return over
	}
	if a == nil {
		a = object{}
	}
	for name, value := range b {
		a[name] = merge(a[name], value)
	}
	return encode(a)
}

// encode writes members that were read as JSON, which cannot fail.
func encode(members object) json.RawMessage {
	raw, err := json.Marshal(members)
	if err != nil {
		panic(fmt.Sprintf("secret: %v", err))
	}
	return raw
}

// Both is what two settings of one request brought; where both speak of something, the second counts. The settings are those
// that the values were taken from.
func Both(first Values, second Values, settings json.RawMessage) Values {
	var said object
	if json.Unmarshal(settings, &said) != nil {
		return first
	}
	all := object{}
	for name, value := range first.settings {
		if _, other := said[name]; !other {
			all[name] = value
		}
	}
	for name, value := range second.settings {
		all[name] = value
	}
	return Values{all}
}
