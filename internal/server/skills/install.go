package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/skill"
)

type installing struct {
	Thread  string `json:"thread_id" required:"true" doc:"the thread that has the file"`
	Path    string `json:"path" required:"true" doc:"as agents know it: /mnt/user-data/outputs/x.skill"`
	Replace bool   `json:"replace" doc:"replace a skill of the same name; what it was is kept"`
}

// installed is what was installed.
type installed struct {
	Success bool     `json:"success"`
	Name    string   `json:"skill_name"`
	Message string   `json:"message"`
	Skill   shown    `json:"skill"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Scripts []script `json:"scripts" doc:"files that can be run, with what they look like they do; a reader's help, and no proof"`
}

// SchemaName is its name for clients.
func (installed) SchemaName() string { return "InstalledSkill" }

type script struct {
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Hints []string `json:"hints"`
}

func (s *Service) install(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var report skill.Report
	var err error
	if kind, params, bad := mime.ParseMediaType(r.Header.Get("Content-Type")); bad == nil && kind == "multipart/form-data" {
		report, err = s.fromForm(w, r, who, params["boundary"])
	} else {
		report, err = s.fromThread(w, r, who)
	}
	if err != nil {
		return refusal(err)
	}
	s.opt.Did(r.Context(), who, "create", "skill", report.Skill.Name)
	out := installed{
		Success: true, Name: report.Skill.Name, Message: fmt.Sprintf("Skill %s is installed", report.Skill.Name), Skill: show(report.Skill),
		Files: report.Files, Bytes: report.Bytes, Scripts: []script{},
	}
	for _, k := range report.Scripts {
		out.Scripts = append(out.Scripts, script{k.Name, k.Kind, append([]string{}, k.Hints...)})
	}
	return edge.Answer(w, http.StatusOK, out)
}

func (s *Service) fromThread(w http.ResponseWriter, r *http.Request, who run.Identity) (skill.Report, error) {
	var req installing
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return skill.Report{}, err
	}
	if s.opt.File == nil {
		return skill.Report{}, edge.RefuseField(http.StatusNotFound, "thread_id", "thread_id: threads have no files here; send the archive as multipart/form-data in a field named file")
	}
	f, info, err := s.opt.File(r, who, req.Thread, req.Path)
	if err != nil {
		return skill.Report{}, err
	}
	defer f.Close()
	return s.opt.Skills.Unpack(who.Owner, path.Base(req.Path), f, info.Size(), req.Replace)
}

// fromForm takes an archive in. It lies in a file without a name while it is looked at.
func (s *Service) fromForm(w http.ResponseWriter, r *http.Request, who run.Identity, boundary string) (skill.Report, error) {
	none := edge.RefuseField(http.StatusUnprocessableEntity, "file", "file: there is no file in the form")
	if boundary == "" {
		return skill.Report{}, edge.RefuseField(http.StatusBadRequest, "Content-Type", "Content-Type: a form needs a boundary")
	}
	replace, err := edge.QueryBool(r, "replace")
	if err != nil {
		return skill.Report{}, err
	}
	parts := multipart.NewReader(http.MaxBytesReader(w, r.Body, skill.MostArchive+1<<20), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && n > 0 {
			return skill.Report{}, none
		}
		if err != nil {
			return skill.Report{}, unreadable(err)
		}
		if part.FormName() != "file" {
			continue
		}
		temp, err := os.CreateTemp("", "tributary-skill-")
		if err != nil {
			return skill.Report{}, err
		}
		defer temp.Close()
		if err := os.Remove(temp.Name()); err != nil {
			return skill.Report{}, err
		}
		size, err := io.Copy(temp, part)
		if err != nil {
			return skill.Report{}, unreadable(err)
		}
		return s.opt.Skills.Unpack(who.Owner, part.FileName(), temp, size, replace)
	}
}

// unreadable says what is wrong with a form.
func unreadable(err error) error {
	var large *http.MaxBytesError
	var ours *fs.PathError
	switch {
	case errors.As(err, &large):
		return edge.RefuseField(http.StatusRequestEntityTooLarge, "file", fmt.Sprintf("file: an archive may have %d bytes", skill.MostArchive))
	case errors.As(err, &ours):
		return err
	}
	return edge.RefuseField(http.StatusBadRequest, "Content-Type", "Content-Type: the body is no form with that boundary: "+err.Error())
}
