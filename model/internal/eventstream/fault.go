package eventstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/model"
)

// Fault makes the [model.Error] of one provider. The zero value works; Provider should be set.
type Fault struct {
	Provider string
	Secrets  []Key // masked in messages, besides what looks like a key
}

// Status names the failure of a call that was answered with an HTTP status other than success. The body is
// the answer's, or as much of it as was read.
func (f Fault) Status(status int, header http.Header, body []byte) *model.Error {
	r := readReason(body)
	msg := r.message
	if msg == "" {
		msg = cmp.Or(strings.ToLower(http.StatusText(status)), "no reason given")
	}
	e := f.error(classify(status, r), status, msg)
	e.After = cmp.Or(retryAfter(header, time.Now()), r.after)
	return e
}

// Payload names the failure that a provider reported inside a stream which had begun well. It understands the
// error objects of all providers, alone or inside the payload that carries them.
func (f Fault) Payload(payload []byte) *model.Error {
	r := readReason(payload)
	e := f.error(classify(r.status, r), 0, cmp.Or(r.message, "the provider reported an error without a reason"))
	e.After = r.after
	return e
}

// Broken names an answer that cannot be read or was not finished.
func (f Fault) Broken(msg string, cause error) *model.Error {
	e := f.error(model.Broken, 0, msg)
	e.Err = cause
	return e
}

// BadRequest names a request that cannot be put into the provider's words.
func (f Fault) BadRequest(msg string) *model.Error { return f.error(model.BadRequest, 0, msg) }

// Incomplete is the error of a stream that ended cleanly, but without the provider's word that the answer
// is complete.
func (f Fault) Incomplete() *model.Error {
	return f.Broken("the answer ended before it was finished", io.ErrUnexpectedEOF)
}

// Err names an error that came from making the call or reading its answer. ctx is the call's context: if
// the caller cancelled it, the result is the context's error and no model.Error; if a [Watch] did, the class
// is Timeout. io.EOF is taken as a connection that broke: use Incomplete for a clean end.
func (f Fault) Err(ctx context.Context, err error) error {
	var known *model.Error
	if errors.As(err, &known) {
		return err
	}
	var silent *SilenceError
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if !errors.As(cause, &silent) {
			return cause
		}
	}
	if silent != nil || errors.As(err, &silent) {
		e := f.error(model.Timeout, 0, silent.Error())
		e.Err = err
		return e
	}
	class, msg := network(err)
	e := f.error(class, 0, msg)
	e.Err = err
	return e
}

func (f Fault) error(class model.Class, status int, msg string) *model.Error {
	secrets := make([]string, 0, len(f.Secrets))
	for _, k := range f.Secrets {
		secrets = append(secrets, k.Reveal())
	}
	// A reason of white space is none.
	told := cmp.Or(sentence(scrub(msg, secrets...)), "no reason given")
	return &model.Error{Class: class, Provider: f.Provider, Status: status, Message: told}
}

// network names errors of connections.
func network(err error) (model.Class, string) {
	var (
		timeout net.Error
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		op      *net.OpError

		limit    *model.LimitError
		redirect *RedirectError
	)
	switch {
	case errors.As(err, &limit):
		return model.TooMuch, limit.Error()
	case errors.As(err, &redirect):
		return model.BadRequest, redirect.Error()
	case errors.Is(err, ErrNotArray):
		return model.Broken, err.Error()
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &host):
		return model.Network, "the server's certificate is not trusted: " + innermost(err)
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return model.Network, "no secure connection: " + innermost(err)
	case errors.As(err, &dns):
		return model.Network, "the server's name " + dns.Name + " is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return model.Network, "the server refused the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return model.Network, "the connection broke"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return model.Timeout, "no answer in time"
	case errors.As(err, &op):
		return model.Network, "no connection: " + innermost(err)
	}
	return model.Network, "the call did not get through: " + innermost(err)
}

// innermost is the text of the error at the end of the chain: those around it repeat the URL of the call.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// maxMessage is what fits into one sentence for a person; some providers quote the whole request.
const maxMessage = 500

// sentence makes one line of a provider's text.
func sentence(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a character
		cut--
	}
	return s[:cut] + "…"
}
