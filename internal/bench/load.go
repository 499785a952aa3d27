package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

func newThread() string { return uuid.NewString() }

// load is a number of runs at once, each with a reader.
type load struct {
	streams int
	pace    pace
	spread  time.Duration // over how long the starts are spread
	lags    bool          // measure how late each token is
}

// outcome is what became of a load.
type outcome struct {
	frames, tokens int
	bytes          int64
	took           time.Duration // from the first request to the last frame
	cpu            time.Duration // of the server
	peak           int64         // memory of the server
	lags           samples
	first          samples // from the request to the first frame
	firstToken     samples
	closes         samples       // from the last frame to the end of the stream
	slip           time.Duration // by how much the worst run fell behind its schedule
}

func (o *outcome) rate() string            { return perSecond(o.frames, o.took) }
func (o *outcome) perFrame() time.Duration { return o.cpu / time.Duration(max(o.frames, 1)) }

// carry puts a load on a server.
func carry(ctx context.Context, p *process, d dialect, l load) (outcome, error) {
	streams := make([]watched, l.streams)
	errs := make([]error, l.streams)
	peak, before, began := p.watch(), p.cpu(), time.Now()
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			time.Sleep(l.spread * time.Duration(i) / time.Duration(l.streams))
			streams[i], errs[i] = watch(ctx, p.addr, d, d.create(l.pace), l.lags)
		})
	}
	wg.Wait()
	o := outcome{cpu: p.cpu() - before, peak: peak()}
	for i := range streams {
		w := &streams[i]
		if errs[i] != nil {
			return o, fmt.Errorf("stream %d on %s: %w", i, d.name, errs[i])
		}
		if w.frames < l.pace.N || l.lags && w.tokens != l.pace.N {
			return o, fmt.Errorf("stream %d on %s has %d frames and %d tokens, not %d tokens", i, d.name, w.frames, w.tokens, l.pace.N)
		}
		o.add(w, began, l.pace)
	}
	return o, nil
}

func (o *outcome) add(w *watched, began time.Time, p pace) {
	o.frames += w.frames
	o.tokens += w.tokens
	o.bytes += w.bytes
	o.took = max(o.took, w.last.Sub(began))
	o.lags = append(o.lags, w.lags...)
	o.first = append(o.first, w.first.Sub(w.began))
	o.closes = append(o.closes, w.end.Sub(w.last))
	if w.tokens > 0 {
		o.firstToken = append(o.firstToken, w.firstToken.Sub(w.began))
		due := time.Duration(float64(p.N-1) * p.DelayMS * float64(time.Millisecond))
		o.slip = max(o.slip, time.Duration(w.to-w.from)*time.Microsecond-due)
	}
}

// audience is what became of many readers of one run.
type audience struct {
	deliveries int
	took, cpu  time.Duration
}

func (a audience) perMillion() float64 {
	return a.cpu.Seconds() / float64(max(a.deliveries, 1)) * 1e6
}

// gather lets many readers follow one run from before its first token. What connecting them costs is not counted.
func gather(ctx context.Context, p *process, d dialect, readers int, pc pace) (audience, error) {
	const patience = 3 * time.Second
	begin := time.Now().Add(patience)
	pc.StartAt = begin.UnixMicro()
	join, err := begun(ctx, p, d, pc)
	if err != nil {
		return audience{}, err
	}
	seen := make([]watched, readers)
	errs := make([]error, readers)
	var wg sync.WaitGroup
	for i := range readers {
		conn, err := connect(ctx, p.addr, join, false)
		if err != nil {
			return audience{}, err
		}
		defer conn.Close()
		wg.Go(func() { errs[i] = seen[i].read(conn, d, false) })
	}
	if left := time.Until(begin); left < 100*time.Millisecond {
		return audience{}, fmt.Errorf("connecting %d readers took %s too long", readers, short(patience-left))
	}
	time.Sleep(time.Until(begin.Add(-50 * time.Millisecond)))
	before := p.cpu()
	wg.Wait()
	a := audience{cpu: p.cpu() - before}
	for i := range seen {
		if errs[i] != nil {
			return a, fmt.Errorf("reader %d on %s: %w", i, d.name, errs[i])
		}
		if seen[i].frames < pc.N || seen[i].frames != seen[0].frames {
			return a, fmt.Errorf("reader %d on %s got %d frames, reader 0 got %d, of %d tokens", i, d.name, seen[i].frames, seen[0].frames, pc.N)
		}
		a.deliveries += seen[i].frames
		a.took = max(a.took, seen[i].last.Sub(begin))
	}
	return a, nil
}

// begun makes a run without a reader and says how to join it from its beginning.
func begun(ctx context.Context, p *process, d dialect, pc pace) (request, error) {
	res, raw, err := ask(ctx, http.DefaultClient, p.addr, d.accept(pc))
	if err != nil {
		return request{}, err
	}
	return d.joined(res, raw)
}

// replay reads a history again and again and returns how many frames came in how long.
func replay(ctx context.Context, p *process, d dialect, join request, want int, long time.Duration) (audience, error) {
	var a audience
	before, began := p.cpu(), time.Now()
	for time.Since(began) < long {
		w, err := watch(ctx, p.addr, d, join, false)
		if err != nil {
			return a, err
		}
		if w.frames < want {
			return a, fmt.Errorf("%s gave %d frames of a history of %d", d.name, w.frames, want)
		}
		a.deliveries += w.frames
	}
	a.took, a.cpu = time.Since(began), p.cpu()-before
	return a, nil
}

// post sends requests on a number of connections for a while, and counts the answers.
func post(ctx context.Context, p *process, next func() request, connections int, long time.Duration) (n int, took, cpu time.Duration, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	counts := make([]int, connections)
	errs := make([]error, connections)
	before, began := p.cpu(), time.Now()
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			for time.Since(began) < long && errs[i] == nil {
				_, _, errs[i] = ask(ctx, client, p.addr, next())
				counts[i]++
			}
		})
	}
	wg.Wait()
	took, cpu = time.Since(began), p.cpu()-before
	for i := range counts {
		if errs[i] != nil {
			return 0, 0, 0, errs[i]
		}
		n += counts[i]
	}
	return n, took, cpu, nil
}

// ask sends a request and reads the whole answer, which must be a good one.
func ask(ctx context.Context, client *http.Client, addr string, r request) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+addr+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", r.method, r.path, res.Status, raw)
	}
	return res, raw, err
}
