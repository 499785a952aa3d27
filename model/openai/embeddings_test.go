package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

// embedder answers every request with the same words.
func embedder(t *testing.T, status int, kind, body string) *Embeddings {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return NewEmbeddings(Options{Model: "m", Key: NewKey(canary), BaseURL: srv.URL, HTTPClient: srv.Client()})
}

func TestTextsBecomeVectors(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct {
			Model      string
			Format     string `json:"encoding_format"`
			Input      []string
			Dimensions int
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+canary || r.Header.Get("Accept") != "application/json" ||
			got.Model != "small" || got.Format != "float" || got.Dimensions != 2 || !reflect.DeepEqual(got.Input, []string{"a", "b"}) {
			t.Errorf("asked %s with %+v, %v", r.URL, got, r.Header)
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[{"object":"embedding","index":1,"embedding":[3,4]},{"object":"embedding","index":0,"embedding":[1,-2e-1]}],"model":"small","usage":{"prompt_tokens":2}}`))
	}))
	defer srv.Close()
	e := NewEmbeddings(Options{Model: "small", Key: NewKey(canary), BaseURL: srv.URL + "/v1", HTTPClient: srv.Client(), Extra: map[string]json.RawMessage{"dimensions": json.RawMessage("2")}})
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	if want := [][]float32{{1, -0.2}, {3, 4}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v, in the order of the texts", got, err, want)
	}
	if got, err := e.Embed(t.Context(), nil); err != nil || got != nil {
		t.Errorf("no texts: %v, %v; nobody need be asked", got, err)
	}
}

func TestVectorsAreReadAsServersSendThem(t *testing.T) {
	packed := base64.StdEncoding.EncodeToString([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0})
	for name, body := range map[string]string{
		"without numbers of the texts": `{"data":[{"embedding":[1,-2]},{"embedding":[1,-2]}]}`,
		"in base64":                    fmt.Sprintf(`{"data":[{"index":0,"embedding":%q},{"index":1,"embedding":[1,-2]}]}`, packed),
		"beside an error that is null": `{"error":null,"data":[{"index":1,"embedding":[1,-2]},{"index":0,"embedding":[1,-2]}]}`,
	} {
		got, err := embedder(t, 200, "application/json", body).Embed(t.Context(), []string{"a", "b"})
		if want := [][]float32{{1, -2}, {1, -2}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestVectorsThatAreNotThereAreAnError(t *testing.T) {
	notANumber := base64.StdEncoding.EncodeToString([]byte{0, 0, 0xc0, 0x7f})
	for name, tc := range map[string]struct {
		status     int
		kind, body string
		want       model.Class
	}{
		"wrong key":              {401, "application/json", `{"error":{"message":"bad key ` + canary + `","code":"invalid_api_key"}}`, model.Auth},
		"no such model":          {404, "application/json", `{"error":{"message":"no","code":"model_not_found"}}`, model.NotFound},
		"too many":               {429, "application/json", `{"error":{"message":"slow down"}}`, model.RateLimit},
		"server's fault":         {500, "text/plain", "oops " + canary, model.Server},
		"a page":                 {200, "text/html", "<html><title>Sign in</title></html>", model.BadRequest},
		"a page without a name":  {200, "application/json", "<html></html>", model.Broken},
		"an error with 200":      {200, "application/json", `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, model.RateLimit},
		"nothing":                {200, "application/json", ``, model.Broken},
		"an empty list":          {200, "application/json", `{"data":[]}`, model.Broken},
		"fewer than asked":       {200, "application/json", `{"data":[{"index":0,"embedding":[1]}]}`, model.Broken},
		"more than asked":        {200, "application/json", `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, model.Broken},
		"one text twice":         {200, "application/json", `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, model.Broken},
		"a number below":         {200, "application/json", `{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`, model.Broken},
		"different lengths":      {200, "application/json", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, model.Broken},
		"an empty vector":        {200, "application/json", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, model.Broken},
		"a number too large":     {200, "application/json", `{"data":[{"index":0,"embedding":[1e99]},{"index":1,"embedding":[1]}]}`, model.Broken},
		"text in place of it":    {200, "application/json", `{"data":[{"index":0,"embedding":"hello!"},{"index":1,"embedding":[1]}]}`, model.Broken},
		"no number in base64":    {200, "application/json", `{"data":[{"index":0,"embedding":"` + notANumber + `"},{"index":1,"embedding":[1]}]}`, model.Broken},
		"an answer that was cut": {200, "application/json", `{"data":[{"index":0,"embedding":[1,`, model.Broken},
	} {
		got, err := embedder(t, tc.status, tc.kind, tc.body).Embed(t.Context(), []string{"a", "b"})
		checkClass(t, name, err, tc.want)
		if got != nil {
			t.Errorf("%s: got %v beside the error", name, got)
		}
	}
}

func TestEmbeddingEndsWithItsContext(t *testing.T) {
	asked := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server that has not read it does not see that nobody waits any more
		close(asked)
		<-r.Context().Done()
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	_, err := NewEmbeddings(Options{Model: "m", BaseURL: srv.URL, HTTPClient: srv.Client()}).Embed(ctx, []string{"a"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestAzureIsAskedForEmbeddingsOfADeployment(t *testing.T) {
	e := NewEmbeddings(Options{Model: "my small", AzureVersion: "2024-10-21", BaseURL: "https://here.openai.azure.com"})
	if got, want := e.at.URL.String(), "https://here.openai.azure.com/openai/deployments/my%20small/embeddings?api-version=2024-10-21"; got != want {
		t.Errorf("asks %s, want %s", got, want)
	}
	e = NewEmbeddings(Options{Model: "m", AzureVersion: "2024-10-21", BaseURL: "http://here.example.com"})
	_, err := e.Embed(t.Context(), []string{"a"})
	checkClass(t, "over http", err, model.BadRequest)
}

func FuzzVector(f *testing.F) {
	for _, s := range []string{`[1,2]`, `"AACAPw=="`, `null`, `"x"`, `{}`, `[1e99]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v vector
		if err := json.Unmarshal(data, &v); err != nil {
			return
		}
		if _, err := json.Marshal([]float32(v)); err != nil {
			t.Errorf("%q has a number that is none: %v", data, err)
		}
	})
}
