package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/internal/export"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

// Speak reads a text aloud, as mp3 or another format. Of two voices the second is asked for with second.
type Speak func(ctx context.Context, text string, second bool, format string) ([]byte, error)

const noSpeech = "there is no speech service; name one under speech in the configuration"

// longestSpoken is how much of a text is read aloud, as DeerFlow has it.
const longestSpoken = 1024

type speechRequest struct {
	Text     string `json:"text" required:"true"`
	Encoding string `json:"encoding" doc:"mp3, unless it says otherwise"`
}

// tts reads a text aloud.
func (d Desk) tts(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
	var q speechRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if err := wantText("text", q.Text); err != nil {
		return err
	}
	format := "mp3"
	if q.Encoding != "" {
		var err error
		if format, err = edge.OneOf("encoding", q.Encoding, "mp3", "opus", "aac", "flac", "wav"); err != nil {
			return err
		}
	}
	if d.Speak == nil {
		return explain(w, http.StatusNotImplemented, noSpeech)
	}
	text := []rune(q.Text)
	sound, err := d.Speak(r.Context(), string(text[:min(len(text), longestSpoken)]), false, format)
	if err != nil {
		return explain(w, http.StatusBadGateway, "the speech service did not answer; try again")
	}
	return file(w, "audio/"+format, sound)
}

func file(w http.ResponseWriter, kind string, data []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) // who has hung up misses it
	return nil
}

type slidesRequest struct {
	Content string `json:"content" required:"true"`
	Locale  string `json:"locale"`
}

const slidesOrder = "You make slides of a report, as Markdown: the title after #, each slide's heading after ##, under it three to six short points after -. " +
	"Keep the report's language, its facts and its citations [^n] with their list, and add nothing. Answer with the Markdown alone."

// slides are made by a model where there is one; else each heading of the report is one.
func (d Desk) slides(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q slidesRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if err := wantText("content", q.Content); err != nil {
		return err
	}
	text := q.Content
	if said, err := d.written(r.Context(), who, slidesOrder, q.Content); err == nil && strings.Contains(said, "## ") {
		text = said
	}
	locale := edge.Clip(q.Locale)
	if locale == "" {
		locale = "en-US"
	}
	data, err := export.PPTX(text, export.Options{Locale: locale})
	if err != nil {
		return err
	}
	return file(w, "application/vnd.openxmlformats-officedocument.presentationml.presentation", data)
}

type podcastRequest struct {
	Content string `json:"content" required:"true"`
}

// podcastScript is who says what.
type podcastScript struct {
	Locale string        `json:"locale"`
	Lines  []podcastLine `json:"lines"`
}

type podcastLine struct {
	Speaker   string `json:"speaker"`
	Paragraph string `json:"paragraph"`
}

// mostLines bounds a podcast.
const mostLines = 60

const podcastOrder = "You write the script of a short podcast about a report: two people, male and female, talk about what it found, in its language, in plain spoken sentences, for about five minutes. " +
	`Answer with one JSON object alone: {"locale": "en" or "zh", "lines": [{"speaker": "male" or "female", "paragraph": "…"}, …]}.`

// podcast has a model write a script, and reads it aloud. Who accepts JSON alone gets the script.
func (d Desk) podcast(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q podcastRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if err := wantText("content", q.Content); err != nil {
		return err
	}
	asScript := r.Header.Get("Accept") == "application/json"
	if d.Speak == nil && !asScript {
		return explain(w, http.StatusNotImplemented, noSpeech+"; with Accept: application/json the script alone is answered")
	}
	said, err := d.written(r.Context(), who, podcastOrder, q.Content)
	switch {
	case errors.Is(err, ErrNoModel):
		return noModel(w)
	case err != nil:
		return failed(w)
	}
	script, err := readScript(said)
	if err != nil {
		return explain(w, http.StatusBadGateway, "the model wrote no script: "+err.Error()+"; try again")
	}
	if asScript {
		return edge.Answer(w, http.StatusOK, script)
	}
	var sound []byte
	for i, line := range script.Lines {
		spoken, err := d.Speak(r.Context(), line.Paragraph, line.Speaker == "female", "mp3")
		if err != nil {
			return explain(w, http.StatusBadGateway, fmt.Sprintf("the speech service did not answer for line %d of %d; try again", i+1, len(script.Lines)))
		}
		sound = append(sound, spoken...) // frames of this format follow each other
	}
	return file(w, "audio/mp3", sound)
}

// readScript finds the object in what a model wrote, and checks it.
func readScript(said string) (s podcastScript, err error) {
	from, to := strings.IndexByte(said, '{'), strings.LastIndexByte(said, '}')
	if from < 0 || to < from {
		return s, errors.New("there is no JSON object")
	}
	if err := json.Unmarshal([]byte(said[from:to+1]), &s); err != nil {
		return s, err
	}
	kept := s.Lines[:0]
	for _, l := range s.Lines {
		if l.Paragraph = strings.TrimSpace(l.Paragraph); l.Paragraph != "" && len(kept) < mostLines {
			if l.Speaker != "female" {
				l.Speaker = "male"
			}
			kept = append(kept, l)
		}
	}
	if s.Lines = kept; len(kept) == 0 {
		return s, errors.New("it has no lines")
	}
	if s.Locale != "zh" {
		s.Locale = "en"
	}
	return s, nil
}
