package endpoint

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// outgoing is the body of a request. A connection remembers its request for as long as the answer streams, which may be
// minutes; the body, which may have megabytes, is let go when it has been sent and answered.
type outgoing struct {
	mu   sync.Mutex
	data []byte
}

var errSent = errors.New("the request has been answered already")

// attach makes data the body of a request, which can be sent again until drop is called.
func attach(req *http.Request, data []byte) *outgoing {
	o := &outgoing{data: data}
	req.ContentLength = int64(len(data))
	req.GetBody = o.open
	req.Body = &outgoingReader{rest: bytes.NewReader(data)}
	return o
}

func (o *outgoing) open() (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.data == nil {
		return nil, errSent
	}
	return &outgoingReader{rest: bytes.NewReader(o.data)}, nil
}

func (o *outgoing) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = nil
}

// outgoingReader forgets the body when it is closed, which may happen during a Read.
type outgoingReader struct {
	mu   sync.Mutex
	rest *bytes.Reader
}

func (r *outgoingReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rest == nil {
		return 0, errSent
	}
	return r.rest.Read(p)
}

func (r *outgoingReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = nil
	return nil
}
