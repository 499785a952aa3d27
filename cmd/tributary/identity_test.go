package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestKeysAreCheckedStrictly(t *testing.T) {
	const key = "0123456789abcdef"
	identify, err := identity("0.0.0.0:1", key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		header http.Header
		want   bool
	}{
		{http.Header{"X-Api-Key": {key}}, true},
		{http.Header{"Authorization": {"Bearer " + key}}, true},
		{http.Header{"Authorization": {"bearer " + key}}, true},
		{http.Header{"Authorization": {"BEARER  " + key}}, true},
		{http.Header{}, false},
		{http.Header{"X-Api-Key": {""}}, false},
		{http.Header{"X-Api-Key": {key + " "}}, false},
		{http.Header{"X-Api-Key": {key, key}}, false},
		{http.Header{"Authorization": {key}}, false}, // without its scheme
		{http.Header{"Authorization": {"Basic " + key}}, false},
		{http.Header{"Authorization": {"Bearer"}}, false},
		{http.Header{"Authorization": {"Bearer" + key}}, false},
		{http.Header{"Authorization": {"Bearer " + key[:15]}}, false},
		{http.Header{"Authorization": {"Bearer " + key, "Bearer x"}}, false},
		{http.Header{"X-Api-Key": {"wrong"}, "Authorization": {"Bearer " + key}}, false},
	} {
		_, err := identify(&http.Request{Header: c.header})
		if (err == nil) != c.want {
			t.Errorf("%v: %v, want accepted %v", c.header, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%q tells the key", err)
		}
	}
	for _, bad := range []string{"short", "123456789012345", " 0123456789abcdef"} {
		if _, err := identity("127.0.0.1:1", bad); err == nil || !strings.Contains(err.Error(), "TRIBUTARY_API_KEY") || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
