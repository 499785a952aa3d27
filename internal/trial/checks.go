package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// short is how many tokens an answer may have. Models that think need room for that, too.
const short = 2000

func user(text string) []item.Message { return []item.Message{item.UserText("check-user", text)} }

func (s *session) stream() (string, error) {
	a, err := s.ask(model.Request{Messages: user("Count from one to five, in words."), MaxTokens: short})
	switch {
	case err != nil:
		return "", err
	case a.Text() == "":
		return "", fmt.Errorf("the answer has no text; it stopped with %s", a.finish.Raw)
	case s.usage.InputTokens == 0:
		return "", fmt.Errorf("the answer came, but not what it cost: %s", a.said())
	}
	return fmt.Sprintf("%d pieces, the first after %s, by %s", a.pieces, round(a.first), named(a.finish.Model, s.Info.Model)), nil
}

func named(told, asked string) string {
	if told == "" {
		return asked
	}
	return told
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

var adds = model.Tool{
	Name: "add", Description: "Adds two numbers.",
	Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`),
}

const sum = "Use the tool to add 19 and 23, and then say the sum."

func (s *session) call() (string, error) {
	a, err := s.ask(model.Request{Messages: user(sum), Tools: []model.Tool{adds}, MaxTokens: short})
	if err != nil {
		return "", err
	}
	in, err := a.arguments(adds.Name)
	if err != nil {
		return "", err
	}
	s.called = &a.Message
	if in["a"] != 19.0 || in["b"] != 23.0 {
		return "", fmt.Errorf("the arguments are %s, and should be 19 and 23", a.ToolCalls[0].Arguments)
	}
	return "add" + a.ToolCalls[0].Arguments, nil
}

// second gives the result back: the wire must take its own answer again.
func (s *session) second() (string, error) {
	if s.called == nil {
		return "", skip("there was no call to go on with")
	}
	msgs := append(user(sum), *s.called)
	for _, c := range s.called.ToolCalls {
		msgs = append(msgs, item.Message{ID: "check-" + c.CallID, Role: item.Tool, CallID: c.CallID, Name: c.Name, Content: item.Text("42")})
	}
	a, err := s.ask(model.Request{Messages: msgs, Tools: []model.Tool{adds}, MaxTokens: short})
	switch {
	case err != nil:
		return "", err
	case !strings.Contains(a.Text(), "42"):
		return "", fmt.Errorf("the result was 42, and the answer is %s", a.said())
	}
	return a.said(), nil
}

// bare calls a tool that has no arguments, which some APIs want to be told in a way of their own.
func (s *session) bare() (string, error) {
	clock := model.Tool{Name: "clock", Description: "Tells the time."}
	a, err := s.ask(model.Request{Messages: user("What time is it? Use the tool."), Tools: []model.Tool{clock}, MaxTokens: short})
	if err != nil {
		return "", err
	}
	if _, err := a.arguments(clock.Name); err != nil {
		return "", err
	}
	return "clock" + a.ToolCalls[0].Arguments, nil
}

func (s *session) think() (string, error) {
	if !s.Thinking {
		return "", skip("it is not said to think; supports_thinking says that it does")
	}
	a, err := s.ask(model.Request{Messages: user("Is 91 a prime number? Say yes or no."), Thinking: model.Thinking{On: true, Effort: "low"}, MaxTokens: 4 * short})
	switch {
	case err != nil:
		return "", err
	case a.thoughts == 0 && s.usage.ReasoningTokens == 0:
		return "", fmt.Errorf("it was asked to think, and nothing shows that it did; it said %s", a.said())
	case a.thoughts == 0:
		return fmt.Sprintf("%d tokens, which the provider keeps to itself", s.usage.ReasoningTokens), nil
	}
	return fmt.Sprintf("%d bytes of thoughts", a.thoughts), nil
}

func (s *session) shape() (string, error) {
	a, err := s.ask(model.Request{
		Messages: user("Name a river and the length of it in kilometres. Answer in JSON."), MaxTokens: short, SchemaName: "river",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"km":{"type":"integer"}},"required":["name","km"],"additionalProperties":false}`),
	})
	if err != nil {
		return "", err
	}
	var river struct {
		Name *string
		KM   *float64
	}
	if err := json.Unmarshal([]byte(a.Text()), &river); err != nil || river.Name == nil || river.KM == nil {
		return "", fmt.Errorf("the answer is not of the schema that was asked for: %s", a.said())
	}
	return strings.Join(strings.Fields(a.Text()), " "), nil
}

// red is a picture of 8 × 8 red dots.
const red = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII="

func (s *session) picture() (string, error) {
	if !s.Vision {
		return "", skip("it is not said to take pictures; supports_vision says that it does")
	}
	msg := item.Message{ID: "check-user", Role: item.User, Content: append(item.Text("Which colour is this? One word."),
		item.Block{Type: item.ImageBlock, URL: "data:image/png;base64," + red, MIME: "image/png"})}
	a, err := s.ask(model.Request{Messages: []item.Message{msg}, MaxTokens: short})
	switch {
	case err != nil:
		return "", err
	case !strings.Contains(strings.ToLower(a.Text()), "red"):
		return "", fmt.Errorf("the picture is red, and the answer is %s", a.said())
	}
	return a.said(), nil
}

// maxLong is as much as is sent to see it refused.
const maxLong = 8 << 20

// long sends more than fits. That it is refused, and recognised as such, is what lets agents shorten a conversation.
func (s *session) long() (string, error) {
	n := s.ContextWindow * 6 // bytes; "river " is one token or two
	switch {
	case s.ContextWindow == 0:
		return "", skip("how much fits is not known; context_window says it")
	case n > maxLong:
		return "", skip(fmt.Sprintf("%d tokens fit; to see more of them refused, that many would be sent", s.ContextWindow))
	}
	_, err := s.ask(model.Request{Messages: user(strings.Repeat("river ", n/5)), MaxTokens: 16})
	var failed *model.Error
	switch {
	case err == nil:
		return "", fmt.Errorf("%d bytes were taken, though context_window is %d", n/5*6, s.ContextWindow)
	case !errors.As(err, &failed):
		return "", err
	case failed.Class != model.TooLarge:
		return "", fmt.Errorf("it is refused, but not as too long (%s): %s", failed.Class, failed.Message)
	}
	return "refused: " + failed.Message, nil
}

// cancel leaves an answer when it has begun.
func (s *session) cancel() (string, error) {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var began time.Time
	var last error
	for part, err := range s.Model.Stream(ctx, model.Request{Messages: user("Count from one to a hundred, in words."), MaxTokens: short}) {
		if last = err; err != nil {
			break
		}
		if u, ok := part.(model.Usage); ok {
			s.usage = u.Usage
		}
		if began.IsZero() {
			began = time.Now()
			stop()
		}
	}
	switch {
	case began.IsZero():
		return "", last
	case last != nil && !errors.Is(last, context.Canceled):
		return "", last
	case last == nil:
		return "all of the answer was there already", nil
	}
	return "left " + round(time.Since(began)).String() + " after it was asked to", nil
}
