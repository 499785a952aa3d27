package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// embeddingsPath is that of the wire.
const embeddingsPath = "embeddings"

// Embeddings turns texts into vectors, over the wire embeddings, which most servers offer.
type Embeddings struct {
	at    endpoint.Endpoint
	model string
	opts  Options
}

// NewEmbeddings returns a model for embeddings. Of the options, those that say where the model is, who asks and how long to wait count,
// and Extra.
func NewEmbeddings(o Options) *Embeddings {
	at := o.endpoint(embeddingsPath)
	at.Sign = func(h http.Header) {
		h.Set("Accept", "application/json") // unless the options' headers want something else
		o.prove(h)
	}
	return &Embeddings{at, o.Model, o.withoutSecrets()}
}

// maxVectors is as much of an answer as is read.
const maxVectors = 32 << 20

// Embed returns a vector for each text, in the order of the texts. All have the same length. An answer that lacks one is an error.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if e.opts.AzureVersion != "" && !endpoint.Private(e.at.URL) {
		return nil, e.at.Fault.BadRequest("Azure is not asked over http, where anybody on the way could read the key; make the base URL https")
	}
	body, err := request.JSON(map[string]any{"model": e.model, "input": texts, "encoding_format": "float"})
	if err == nil {
		body, err = request.Patch(body, e.opts.Extra)
	}
	if err != nil {
		return nil, e.at.Fault.BadRequest(err.Error())
	}
	first, idle := e.opts.timeouts()
	ctx, watch := eventstream.NewWatch(ctx, first, idle)
	defer watch.Stop()
	resp, fault, err := e.at.Post(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(watch.Body(resp.Body), maxVectors+1))
	switch {
	case err != nil:
		return nil, fault.Err(ctx, err)
	case len(data) > maxVectors:
		return nil, &model.Error{Class: model.TooMuch, Provider: fault.Provider, Message: fmt.Sprintf("the vectors of %d texts have more than %d bytes", len(texts), maxVectors)}
	}
	var answer struct {
		Data []struct {
			Index  *int   `json:"index"`
			Vector vector `json:"embedding"`
		} `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fault.Broken("the answer is not that of an embedding model", err)
	}
	if len(answer.Error) > 0 && string(answer.Error) != "null" {
		return nil, fault.Payload(data)
	}
	out := make([][]float32, len(texts))
	for i, d := range answer.Data {
		at := i
		if d.Index != nil { // which may be in any order
			at = *d.Index
		}
		if at < 0 || at >= len(out) || out[at] != nil {
			return nil, fault.Broken(fmt.Sprintf("there is a vector for text %d, which is not one of the %d or has one already", at, len(texts)), nil)
		}
		out[at] = d.Vector
	}
	for i, v := range out {
		switch {
		case len(v) == 0:
			return nil, fault.Broken(fmt.Sprintf("%d texts got %d vectors; there is none for text %d", len(texts), len(answer.Data), i), nil)
		case len(v) != len(out[0]):
			return nil, fault.Broken(fmt.Sprintf("the vectors have different lengths: %d and %d", len(out[0]), len(v)), nil)
		}
	}
	return out, nil
}

// vector is a list of numbers, or the same in base64, which some servers send whatever they are asked for.
type vector []float32

// UnmarshalJSON reads both. A number that is none, or is infinite, is refused.
func (v *vector) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte{'"'}) {
		return json.Unmarshal(data, (*[]float32)(v))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%4 != 0 {
		return errors.New("a vector is no list of numbers and not base64")
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		f := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return errors.New("a vector has a number that is none")
		}
		(*v)[i] = f
	}
	return nil
}
