//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

// withstood are the options with which a sandbox of this process withstood its attacks: the system does not change under it.
var withstood sync.Map

// Open makes a sandbox and attacks it from inside, once in a process for the same options. The error says why code must not be
// run here: which attack went well, or what the system lacks. It takes some hundredths of a second.
func Open(ctx context.Context, opt Options) (*Sandbox, error) {
	s := prepare(opt)
	if _, ok := withstood.Load(opt); ok {
		return s, nil
	}
	found, err := s.probe(ctx)
	if err == nil {
		err = judge(found)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	withstood.Store(opt, true)
	return s, nil
}

// judge is nil if every attack was made, and none went well.
func judge(found []jail.Finding) error {
	var escapes []string
	for i, a := range jail.Attacks() {
		if i >= len(found) || found[i].Attack != a {
			return fmt.Errorf("the sandbox could not be tried: %d of %d attacks were made", len(found), len(jail.Attacks()))
		}
		if f := found[i]; f.Escaped != "" {
			escapes = append(escapes, fmt.Sprintf("%s (%s)", f.Attack, f.Escaped))
		}
	}
	if escapes != nil {
		return errors.New("the sandbox does not hold; code in it can: " + strings.Join(escapes, "; "))
	}
	return nil
}

// probe attacks a jail from inside.
func (s *Sandbox) probe(ctx context.Context) (_ []jail.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "tributary-probe-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	outside, err := newOutside(dir)
	if err != nil {
		return nil, err
	}
	defer outside.close()
	folder, err := os.OpenRoot(filepath.Join(dir, "thread"))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f := outside.facts
	f.Network = s.opt.Network
	told, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	got, err := s.run(ctx, command{folder: folder, self: []string{jail.AsAttacker, string(told)}}, func(p []byte) { out.Write(p) })
	if err != nil {
		return nil, err
	}
	var found []jail.Finding
	for dec := json.NewDecoder(&out); dec.More(); {
		var one jail.Finding
		if err := dec.Decode(&one); err != nil {
			return nil, fmt.Errorf("the sandbox could not be tried: %w", err)
		}
		found = append(found, one)
	}
	if got != (outcome{}) {
		return nil, fmt.Errorf("the sandbox could not be tried: after %d of %d attacks, %s", len(found), len(jail.Attacks()), got.said())
	}
	return found, nil
}

// outside is what attacks aim at: a file that everybody may read, and sockets that answer everybody.
type outside struct {
	facts   jail.Facts
	closers []interface{ Close() error }
}

func newOutside(dir string) (*outside, error) {
	o := &outside{facts: jail.Facts{Secret: filepath.Join(dir, "secret"), Abstract: "@" + strings.ReplaceAll(dir, "/", "-"), Server: os.Getpid()}}
	err := errors.Join(
		os.Chmod(dir, 0o755),
		os.WriteFile(o.facts.Secret, []byte("secret"), 0o644),
		os.MkdirAll(filepath.Join(dir, "thread", uploadsArea), 0o700),
		os.WriteFile(filepath.Join(dir, "thread", uploadsArea, "given"), []byte("given"), 0o600),
	)
	if err != nil {
		return nil, err
	}
	if o.facts.Net, err = os.Readlink(jail.OwnNetwork); err != nil {
		return nil, err
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil { // without a loopback there is nothing to be reached
		o.closers, o.facts.TCP = append(o.closers, tcp), tcp.Addr().String()
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err == nil {
		o.closers, o.facts.UDP = append(o.closers, udp), udp.LocalAddr().String()
	}
	abstract, err := net.Listen("unix", o.facts.Abstract)
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	o.closers = append(o.closers, abstract)
	return o, nil
}

func (o *outside) close() error {
	var errs []error
	for _, c := range o.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
