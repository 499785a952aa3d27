package main

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary"
)

// minKey is how long a key must be. A shorter one can be guessed by trying.
const minKey = 16

var errKey = errors.New("an API key is required: send it as x-api-key, or as Authorization: Bearer")

// identity says who calls. Without a key everybody is the local user, so nobody else may be able to call.
func identity(addr, key string) (func(*http.Request) (owner string, err error), error) {
	if key == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("address %q: give a host and a port, as in 127.0.0.1:8123", addr)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("%s can be reached from other machines, so callers must show a key: set TRIBUTARY_API_KEY, or listen on 127.0.0.1", addr)
		}
		return nil, nil
	}
	if len(key) < minKey {
		return nil, fmt.Errorf("TRIBUTARY_API_KEY has %d characters and can be guessed; give at least %d, such as openssl rand -hex 32 makes", len(key), minKey)
	}
	if strings.TrimSpace(key) != key {
		return nil, errors.New("TRIBUTARY_API_KEY begins or ends with white space, which no header can carry; remove it")
	}
	return func(r *http.Request) (string, error) {
		given, err := givenKey(r.Header)
		if err != nil {
			return "", err
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(key)) != 1 {
			return "", errKey
		}
		return tributary.DefaultOwner, nil
	}, nil
}

// givenKey is the key that a request shows. A header that is there must be what it should be: a key without its scheme is not taken, since
// whoever sends it so would send it to others too.
func givenKey(h http.Header) (string, error) {
	if keys := h.Values("X-Api-Key"); len(keys) > 0 {
		if len(keys) > 1 {
			return "", errors.New("x-api-key is given more than once")
		}
		return keys[0], nil
	}
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", errKey
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", errors.New("the header Authorization must be Bearer and the API key")
	}
	return strings.TrimLeft(token, " "), nil
}
