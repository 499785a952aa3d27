package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tributary-ai/tributary/internal/folder"
)

// secretFile holds, in the data folder, the key with which webhooks are signed.
const secretFile = "webhook.secret"

// leastSecret is how many characters a secret must have. Shorter ones can be guessed.
const leastSecret = 16

// webhookSecret is the key with which webhooks are signed. There is no default: each data folder makes its own, and
// receivers are told it by whoever runs the server. A file that holds nothing is what a first start left that was cut off
// by a power failure: nobody was told that secret, so a new one is made. One that is too short may be known to
// somebody, and is for people to decide about.
func webhookSecret(dir string, log *slog.Logger) ([]byte, error) {
	path := filepath.Join(dir, secretFile)
	secret, err := readSecret(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, errNoSecret):
		log.Warn("the file of the webhook secret holds nothing; a new secret is made: tell it to those who receive webhooks", "file", path)
	case err != nil:
		return nil, err
	default:
		return secret, nil
	}
	secret = []byte(rand.Text())
	if err := folder.Write(path, append(bytes.Clone(secret), '\n')); err != nil {
		return nil, remedied{fmt.Errorf("webhook secret: %w", err), "make the data folder writable, and see that its disk has space"}
	}
	return secret, nil
}

var errNoSecret = errors.New("it holds nothing")

// readSecret reads a secret and says what is wrong with it.
func readSecret(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, err
	case errors.Is(err, os.ErrPermission):
		return nil, remedied{fmt.Errorf("webhook secret: %w", err), "make the file readable for the user that runs tributary, or move it away: then a new secret is made"}
	case err != nil:
		return nil, remedied{fmt.Errorf("webhook secret: %w", err), "move it away: then a new secret is made"}
	}
	secret := bytes.Trim(data, "\x00 \t\r\n") // zeros are what some file systems leave after a power failure
	switch {
	case len(secret) == 0:
		return nil, fmt.Errorf("webhook secret %s: %w", path, errNoSecret)
	case len(secret) < leastSecret:
		return nil, remedied{fmt.Errorf("webhook secret: %s has %d characters and needs %d", path, len(secret), leastSecret),
			"put the whole secret back, or move the file away: then a new one is made, which receivers must be told"}
	}
	return secret, nil
}

// remedied is an error that knows what to do about it.
type remedied struct {
	err    error
	remedy string
}

func (r remedied) Error() string { return r.err.Error() + "; " + r.remedy }
func (r remedied) Unwrap() error { return r.err }
