package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// generateRequest is a GenerateContentRequest.
type generateRequest struct {
	Contents []content         `json:"contents"`
	System   *content          `json:"systemInstruction,omitempty"`
	Tools    []json.RawMessage `json:"tools,omitempty"`
	Choice   *toolConfig       `json:"toolConfig,omitempty"`
	Config   generationConfig  `json:"generationConfig,omitzero"`
}

type toolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig"`
}

type generationConfig struct {
	Temperature *float64        `json:"temperature,omitempty"`
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Stop        []string        `json:"stopSequences,omitempty"`
	MIME        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking    *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	Include bool   `json:"includeThoughts"`
	Budget  int    `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// body is the request object.
func (m *Model) body(req model.Request) ([]byte, error) {
	major, _ := generation(m.opts.Model)
	c := conversation{provider: m.opts.Provider, signs: major >= 3, ids: m.opts.Project == ""}
	c.add(req.Messages)
	out := generateRequest{Contents: c.turns}
	for _, s := range append([]string{req.System}, c.system...) {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if out.System == nil {
			out.System = &content{}
		}
		out.System.Parts = append(out.System.Parts, sentPart{Text: s})
	}
	if err := m.tools(&out, req); err != nil {
		return nil, err
	}
	out.Config = generationConfig{Temperature: req.Temp, MaxTokens: req.MaxTokens, Stop: req.Stop, Thinking: m.think(req.Thinking)}
	if len(req.Schema) > 0 {
		out.Config.MIME, out.Config.Schema = "application/json", req.Schema
	}
	body, err := request.JSON(out)
	if err != nil {
		return nil, err
	}
	return request.Patch(body, m.opts.Extra, req.Extra)
}

// tools offers the request's tools and the provider's own.
func (m *Model) tools(out *generateRequest, req model.Request) error {
	var list []declaration
	for _, t := range req.Tools {
		schema := bytes.TrimSpace(t.Schema)
		if len(schema) > 0 && (schema[0] != '{' || !json.Valid(schema)) {
			return fmt.Errorf("tool %s: the schema of the arguments is not a JSON object", t.Name)
		}
		list = append(list, declaration{t.Name, t.Description, schema})
	}
	if list != nil {
		one, err := json.Marshal(map[string]any{"functionDeclarations": list})
		if err != nil {
			return fmt.Errorf("the tools cannot be written as JSON: %w", err)
		}
		out.Tools = append(out.Tools, one)
	}
	out.Tools = append(out.Tools, m.opts.Tools...)
	if list == nil || req.Choice == "" || req.Choice == "auto" {
		return nil
	}
	out.Choice = &toolConfig{}
	calling := &out.Choice.Calling
	switch req.Choice {
	case "none":
		calling.Mode = "NONE"
	case "required":
		calling.Mode = "ANY"
	default:
		calling.Mode, calling.Allowed = "ANY", []string{req.Choice}
	}
	return nil
}

var budgets = map[string]int{"low": 1024, "medium": 8192, "high": 24576}

// think asks for thoughts. Since its third generation the API takes levels, before that budgets.
func (m *Model) think(t model.Thinking) *thinkingConfig {
	major, minor := generation(m.opts.Model)
	if !t.On || major > 0 && major < 2 || major == 2 && minor < 5 {
		return nil
	}
	c := &thinkingConfig{Include: true, Budget: t.Budget}
	if t.Budget > 0 {
		return c
	}
	if major >= 3 {
		c.Level = t.Effort
	} else {
		c.Budget = budgets[t.Effort]
	}
	return c
}

var version = regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`)

// generation finds the version in a model's name; zero where there is none.
func generation(name string) (major, minor int) {
	v := version.FindStringSubmatch(name)
	if v == nil {
		return 0, 0
	}
	major, _ = strconv.Atoi(v[1])
	minor, _ = strconv.Atoi(v[2])
	return major, minor
}
