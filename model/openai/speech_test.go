package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

func TestTextsAreReadAloud(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got map[string]string
		_ = json.NewDecoder(r.Body).Decode(&got)
		if r.URL.Path != "/v1/audio/speech" || r.Header.Get("Authorization") != "Bearer "+canary ||
			got["model"] != "tts-1" || got["input"] != "hello" || got["voice"] != "alloy" || got["response_format"] != "mp3" {
			t.Errorf("asked %s with %v", r.URL, got)
		}
		_, _ = w.Write([]byte("ID3 sound"))
	}))
	defer srv.Close()
	s := NewSpeech(Options{Model: "tts-1", Key: NewKey(canary), BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
	if sound, err := s.Say(t.Context(), "hello", "alloy", "mp3"); err != nil || string(sound) != "ID3 sound" {
		t.Errorf("%q, %v", sound, err)
	}
}

func TestSpeechThatFailsSaysWhy(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Empty") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer srv.Close()
	o := Options{Model: "m", BaseURL: srv.URL, HTTPClient: srv.Client()}
	_, err := NewSpeech(o).Say(t.Context(), "a", "b", "mp3")
	checkClass(t, "without a key", err, model.Auth)
	o.Headers = map[string]string{"X-Empty": "1"}
	_, err = NewSpeech(o).Say(t.Context(), "a", "b", "mp3")
	checkClass(t, "without sound", err, model.Broken)
}
