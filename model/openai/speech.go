package openai

import (
	"context"
	"fmt"
	"io"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// Speech reads texts aloud, over the wire audio/speech, which several servers offer.
type Speech struct {
	at    endpoint.Endpoint
	model string
	opts  Options
}

// NewSpeech returns a voice. Of the options, those that say where the model is and who asks count.
func NewSpeech(o Options) *Speech {
	return &Speech{o.endpoint("audio/speech"), o.Model, o.withoutSecrets()}
}

// maxSpeech is as much of a recording as is taken.
const maxSpeech = 64 << 20

// Say returns a text as sound, in a format such as "mp3".
func (s *Speech) Say(ctx context.Context, text, voice, format string) ([]byte, error) {
	body, err := request.JSON(map[string]any{"model": s.model, "input": text, "voice": voice, "response_format": format})
	if err != nil {
		return nil, err
	}
	first, idle := s.opts.timeouts()
	ctx, watch := eventstream.NewWatch(ctx, first, idle)
	defer watch.Stop()
	resp, fault, err := s.at.Post(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	sound, err := io.ReadAll(io.LimitReader(watch.Body(resp.Body), maxSpeech+1))
	switch {
	case err != nil:
		return nil, fault.Err(ctx, err)
	case len(sound) > maxSpeech:
		return nil, &model.Error{Class: model.TooMuch, Provider: s.at.Fault.Provider, Message: fmt.Sprintf("the recording is longer than %d bytes", maxSpeech)}
	case len(sound) == 0:
		return nil, fault.Broken("no sound came", nil)
	}
	return sound, nil
}
