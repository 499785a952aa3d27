// Package skills serves skills: people list, read, install, change and switch them, and have older versions again.
//
// # Laws
//
//   - A person sees the skills that are everybody's and those of their own, and changes only these. Which skills are on is everybody's own.
//   - An archive that is sent is looked at as a whole before anything of it is kept; one that breaks a rule is refused with the reason.
//   - What is answered is what the next run finds.
package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/skill"
)

// Skills keep skills; package skill says what they promise.
type Skills interface {
	List(owner string) ([]skill.Skill, error)
	Get(owner, name string) (skill.Skill, error)
	Content(owner, name string) (string, error)
	Switch(owner, name string, on bool) (skill.Skill, error)
	Unpack(owner, name string, from io.ReaderAt, size int64, replace bool) (skill.Report, error)
	Change(owner, name string, change func(files map[string][]byte) error) (skill.Report, error)
	History(owner, name string) ([]skill.Version, error)
	Rollback(owner, name string, version int) (skill.Report, error)
	Remove(owner, name string) error
}

// Options are a service's parts.
type Options struct {
	Skills Skills
	// File opens a file of a thread by the name that agents know it by; nil where threads have no files. Its error is the client's.
	File func(r *http.Request, who run.Identity, thread, path string) (*os.File, fs.FileInfo, error)
	// Did is told of each change; nil: nobody is.
	Did func(ctx context.Context, who run.Identity, action, kind, id string)
}

// Service serves skills.
type Service struct{ opt Options }

// New makes a service.
func New(opt Options) *Service {
	if opt.Did == nil {
		opt.Did = func(context.Context, run.Identity, string, string, string) {}
	}
	return &Service{opt}
}

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("skills", "Instructions for special tasks, which models load when they need them")
	list := edge.Doc{Summary: "List skills, those that are off and those that cannot be used too", Answer: jsonvalue.Object{{"skills", []shown{}}}}
	t.Handle("GET /skills", s.list(""), list)
	t.Handle("GET /skills/{skill_name}", s.get, edge.Doc{Summary: "Read a skill", Answer: content{}, Fails: []int{404}})
	t.Handle("PUT /skills/{skill_name}", s.enable, edge.Doc{Summary: "Switch a skill on or off", Body: enabling{}, Answer: shown{}, Fails: []int{404}})
	t.Handle("POST /skills/install", s.install, edge.Doc{
		Summary: "Install a skill from an archive: sent as multipart/form-data in a field named file, or a file of a thread, named by thread_id and path",
		Query:   jsonvalue.Object{{"replace", edge.Text("true: replace a skill of the same name, where the archive is sent")}}, Body: installing{}, Answer: installed{}, Fails: []int{404, 409, 413, 415},
	})
	list.Summary = "List the skills of one's own"
	t.Handle("GET /skills/custom", s.list(skill.Custom), list)
	t.Handle("GET /skills/custom/{skill_name}", s.getOwn, edge.Doc{Summary: "Read a skill of one's own", Answer: content{}, Fails: []int{404}})
	t.Handle("PUT /skills/custom/{skill_name}", s.write, edge.Doc{Summary: "Write the SKILL.md of a skill of one's own, or make one", Body: writing{}, Answer: content{}, Fails: []int{413}})
	t.Handle("DELETE /skills/custom/{skill_name}", s.remove, edge.Doc{Summary: "Delete a skill of one's own, with its history", Answer: jsonvalue.Object{{"success", true}}, Fails: []int{404}})
	t.Handle("GET /skills/custom/{skill_name}/history", s.history, edge.Doc{Summary: "List what a skill was before, the oldest first", Answer: jsonvalue.Object{{"history", []version{}}}, Fails: []int{404}})
	t.Handle("POST /skills/custom/{skill_name}/rollback", s.rollback, edge.Doc{Summary: "Have a skill be what it was before", Body: back{}, Answer: content{}, Fails: []int{404}})
}

// shown is a skill as clients see it.
type shown struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	License     *string  `json:"license"`
	Category    string   `json:"category" enum:"public,custom" doc:"public: everybody's"`
	Enabled     bool     `json:"enabled"`
	Editable    bool     `json:"editable" doc:"it is one of one's own"`
	Tools       []string `json:"allowed_tools,omitempty" doc:"what it may use while it is in use; it opens nothing, and an empty list closes all"`
	Secrets     []string `json:"required_secrets,omitempty"`
	Problem     string   `json:"problem,omitempty" doc:"why it cannot be used"`
}

// SchemaName is its name for clients.
func (shown) SchemaName() string { return "Skill" }

// content is a skill with its text.
type content struct {
	shown
	Content string `json:"content" doc:"its SKILL.md"`
}

// SchemaName is its name for clients.
func (content) SchemaName() string { return "SkillContent" }

func show(k skill.Skill) shown {
	out := shown{
		Name: k.Name, Description: k.Description, Category: skill.Public, Enabled: !k.Off && k.Problem == "", Tools: k.Tools, Secrets: k.Secrets, Problem: k.Problem,
	}
	if k.Origin == skill.Custom {
		out.Category, out.Editable = skill.Custom, true
	}
	if k.License != "" {
		out.License = &k.License
	}
	return out
}

// refusal says in the words of routes what is wrong.
func refusal(err error) error {
	var refused *skill.RefusedError
	switch {
	case errors.As(err, &refused):
		return run.Invalidf("skill", "%s", refused.Reason)
	case errors.Is(err, skill.ErrNone):
		return edge.RefuseField(http.StatusNotFound, "skill_name", "skill_name: there is no such skill, or it is not one of your own")
	}
	return err
}

func (s *Service) list(origin string) func(http.ResponseWriter, *http.Request, run.Identity) error {
	return func(w http.ResponseWriter, _ *http.Request, who run.Identity) error {
		all, err := s.opt.Skills.List(who.Owner)
		if err != nil {
			return err
		}
		list := []shown{}
		for _, k := range all {
			if origin == "" || k.Origin == origin {
				list = append(list, show(k))
			}
		}
		return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"skills", list}})
	}
}

// find is a skill with its text. own says that it must be one of the person's own.
func (s *Service) find(who run.Identity, name string, own bool) (content, error) {
	k, err := s.opt.Skills.Get(who.Owner, name)
	if err == nil && own && k.Origin != skill.Custom {
		err = skill.ErrNone
	}
	if err != nil {
		return content{}, refusal(err)
	}
	text, err := s.opt.Skills.Content(who.Owner, name)
	if errors.Is(err, skill.ErrNone) && k.Problem != "" {
		err = nil // it has no SKILL.md, which is its problem
	}
	return content{show(k), strings.ToValidUTF8(text, "\ufffd")}, refusal(err)
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	return s.answer(w, r, who, false)
}

func (s *Service) getOwn(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	return s.answer(w, r, who, true)
}

func (s *Service) answer(w http.ResponseWriter, r *http.Request, who run.Identity, own bool) error {
	c, err := s.find(who, r.PathValue("skill_name"), own)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, c)
}

type enabling struct {
	Enabled *bool `json:"enabled" required:"true"`
}

func (s *Service) enable(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req enabling
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	if req.Enabled == nil {
		return run.Invalidf("enabled", "is required")
	}
	k, err := s.opt.Skills.Switch(who.Owner, r.PathValue("skill_name"), *req.Enabled)
	if err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "change", "skill", k.Name)
	return edge.Answer(w, http.StatusOK, show(k))
}

type writing struct {
	Content *string `json:"content" required:"true" doc:"the whole SKILL.md"`
}

func (s *Service) write(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req writing
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	if req.Content == nil {
		return run.Invalidf("content", "is required")
	}
	name := r.PathValue("skill_name")
	_, err := s.opt.Skills.Change(who.Owner, name, func(files map[string][]byte) error {
		files[skill.File] = []byte(*req.Content)
		return nil
	})
	if err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "change", "skill", name)
	return s.answer(w, r, who, true)
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	name := r.PathValue("skill_name")
	if err := s.opt.Skills.Remove(who.Owner, name); err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "delete", "skill", name)
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"success", true}})
}

// version is what a skill was.
type version struct {
	Number      int       `json:"version"`
	At          time.Time `json:"at" doc:"when it was written"`
	Description string    `json:"description"`
}

// SchemaName is its name for clients.
func (version) SchemaName() string { return "SkillVersion" }

func (s *Service) history(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	all, err := s.opt.Skills.History(who.Owner, r.PathValue("skill_name"))
	if err != nil {
		return refusal(err)
	}
	list := []version{}
	for _, v := range all {
		list = append(list, version{v.Number, v.At.UTC(), v.Description})
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"history", list}})
}

type back struct {
	Version *int `json:"version" doc:"as the history lists it"`
	Index   *int `json:"history_index" doc:"instead: the place in the history, negative from its end; default -1, the latest"`
}

func (s *Service) rollback(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req back
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	name := r.PathValue("skill_name")
	number, err := s.which(who, name, req)
	if err != nil {
		return refusal(err)
	}
	if _, err := s.opt.Skills.Rollback(who.Owner, name, number); err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "change", "skill", name)
	return s.answer(w, r, who, true)
}

// which is the number of the version that a request means.
func (s *Service) which(who run.Identity, name string, req back) (int, error) {
	if req.Version != nil && req.Index != nil {
		return 0, run.Invalidf("history_index", "give it or version, not both")
	}
	all, err := s.opt.Skills.History(who.Owner, name)
	if err != nil {
		return 0, err
	}
	if req.Version != nil {
		for _, v := range all {
			if v.Number == *req.Version {
				return v.Number, nil
			}
		}
		return 0, edge.RefuseField(http.StatusNotFound, "version", "version: the history has no such version")
	}
	at := len(all) - 1
	if req.Index != nil {
		if at = *req.Index; at < 0 {
			at += len(all)
		}
	}
	if at < 0 || at >= len(all) {
		return 0, edge.RefuseField(http.StatusNotFound, "history_index", fmt.Sprintf("history_index: the history has %d versions", len(all)))
	}
	return all[at].Number, nil
}
