package skill_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/skill"
)

const head = "---\nname: evil\ndescription: Does evil.\n---\nDo it.\n"

// member is an entry of an archive.
type member struct {
	name string
	data []byte
	mode fs.FileMode // 0: a plain file
	// size, if it is not 0, is what the entry says of itself; raw says that data is not what it says.
	size   uint64
	raw    bool
	method uint16
	flags  uint16
}

func file(name, text string) member { return member{name: name, data: []byte(text)} }

// archive packs members, in their order.
func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Flags: m.flags}
		if m.mode != 0 {
			h.SetMode(m.mode)
		}
		create := w.CreateHeader
		if m.raw {
			h.Method, h.CompressedSize64, h.UncompressedSize64, h.CRC32 = m.method, uint64(len(m.data)), m.size, crc32.ChecksumIEEE(m.data)
			create = w.CreateRaw
		}
		to, err := create(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(m.name, "/") {
			if _, err := to.Write(m.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostile are archives of people who mean no good, each with whether it is one that may be installed nevertheless.
func hostile(t testing.TB) map[string][]byte {
	good := file(skill.File, head)
	all := map[string][]byte{}
	for _, name := range []string{
		"../x", "../../etc/passwd", "../../../../../../../../tmp/x", "/etc/passwd", "//x", "a/../../x", "a/../x", "./x", ".", "..", "a/..", "a//b", "a/./b", "", "../evil2/SKILL.md",
		`..\x`, `a\..\..\x`, `C:\x`, "c:/x", "x:stream", "a\x00b", "a\nb", "a\x1b[2Jb", "\xff\xfe", "a\u202egnp.exe", "name ", "name.", "a./b", "...", " ",
		strings.Repeat("x", 300), strings.Repeat("d/", 40) + "x", strings.Repeat("../", 200) + "x", "skill.md", skill.File, skill.File + "/x", skill.File + "/../../x",
	} {
		all[fmt.Sprintf("a file called %q", name)] = archive(t, good, file(name, "evil"))
	}
	for _, name := range []string{"../x/", "/x/", "a/../../b/", `..\`} {
		all[fmt.Sprintf("a folder called %q", name)] = archive(t, good, member{name: name, mode: fs.ModeDir | 0o755})
	}
	for what, mode := range map[string]fs.FileMode{
		"a link": fs.ModeSymlink | 0o777, "a pipe": fs.ModeNamedPipe | 0o644, "a device": fs.ModeDevice | 0o644, "a terminal": fs.ModeDevice | fs.ModeCharDevice | 0o644,
		"a socket": fs.ModeSocket | 0o644, "a program of root's": fs.ModeSetuid | 0o755, "a program of a group's": fs.ModeSetgid | 0o755,
	} {
		all[what] = archive(t, good, member{name: "x", data: []byte("/etc/passwd"), mode: mode})
	}
	all["a link as the skill"] = archive(t, member{name: skill.File, data: []byte("/etc/passwd"), mode: fs.ModeSymlink | 0o777})
	all["a link and a file behind it"] = archive(t, good, member{name: "x", data: []byte("../../.."), mode: fs.ModeSymlink | 0o777}, file("x/y", "evil"))
	all["a file and a file in it"] = archive(t, good, file("a", "x"), file("a/b", "y"))
	all["a file in a file, the other way"] = archive(t, good, file("a/b", "x"), file("a", "y"))
	all["encrypted"] = archive(t, good, member{name: "x", data: []byte("x"), raw: true, size: 1, method: zip.Store, flags: 1})
	all["an unknown method"] = archive(t, good, member{name: "x", data: []byte("x"), raw: true, size: 1, method: 99})
	all["a bomb"] = archive(t, good, member{name: "x", data: make([]byte, 2<<20)})
	all["a bomb that is too large"] = archive(t, good, member{name: "x", data: make([]byte, 1000), raw: true, size: 11 << 20, method: zip.Deflate})
	all["a bomb as the skill"] = archive(t, member{name: skill.File, data: append([]byte(head), make([]byte, 2<<20)...)})
	all["a size that is a lie"] = lie(t, 10)
	all["a huge size that is a lie"] = lie(t, 1<<40)
	all["no skill"] = archive(t, file("README.md", "hello"))
	all["nothing"] = archive(t)
	all["no archive"] = []byte("PK\x03\x04 and then nothing")
	all["empty"] = nil
	all["cut off"] = archive(t, good, file("x", strings.Repeat("y", 1000)))[:200]
	all["two folders"] = archive(t, file("a/"+skill.File, head), file("b/x", "y"))
	all["no head"] = archive(t, file(skill.File, "# Evil"))
	all["a head without end"] = archive(t, file(skill.File, "---\nname: evil\n"))
	all["no description"] = archive(t, file(skill.File, "---\nname: evil\n---\n"))
	all["not text"] = archive(t, file(skill.File, head+"\xff\xfe"))
	for _, name := range []string{"../evil", "a/b", "/etc", "..", strings.Repeat("a", 65), ".lock", "Evil/Twin", `a\b`, "evil; rm", "-", "évil/x"} {
		all[fmt.Sprintf("it calls itself %q", name)] = archive(t, file(skill.File, "---\nname: "+name+"\ndescription: x\n---\n"))
	}
	bomb := "---\nname: evil\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	all["a head that laughs"] = archive(t, file(skill.File, bomb+"description: *j\n---\n"))
	many := []member{good}
	for i := range 2100 {
		many = append(many, file(fmt.Sprintf("f%d", i), ""))
	}
	all["too many entries"] = archive(t, many...)
	all["too many files"] = archive(t, many[:1100]...)
	heavy := []member{good}
	for i := range 7 {
		heavy = append(heavy, member{name: fmt.Sprint("f", i), data: make([]byte, 100_000), raw: true, size: 9 << 20, method: zip.Deflate})
	}
	all["too much together"] = archive(t, heavy...)
	return all
}

// lie is an archive with a file of 2 MB that says that it has another size.
func lie(t testing.TB, size uint64) []byte {
	t.Helper()
	data := archive(t, member{name: "x", data: make([]byte, 2<<20)})
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if _, err := packed.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	return archive(t, file(skill.File, head), member{name: "x", data: packed.Bytes(), raw: true, size: size, method: zip.Deflate})
}

// below lists everything below a folder.
func below(t testing.TB, dir string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil {
			all[name] = e.Type()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestHostileArchivesAreRefusedAndStayInside(t *testing.T) {
	all := hostile(t)
	if len(all) < 60 {
		t.Fatalf("there are only %d", len(all))
	}
	for what, data := range all {
		base := t.TempDir()
		from := filepath.Join(base, "evil.skill")
		if err := os.WriteFile(from, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := skill.New(filepath.Join(base, "data"))
		_, err := s.Install("local", from, false)
		var refused *skill.RefusedError
		if !errors.As(err, &refused) || len(refused.Reason) > 400 {
			t.Errorf("%s: got %v, want that it is refused", what, err)
		}
		home := filepath.Join(base, "data", "skills", "custom", "local")
		for name, kind := range below(t, base) {
			within, _ := filepath.Rel(base, name)
			inHome := name == home || strings.HasPrefix(home, name+string(filepath.Separator)) || filepath.Dir(name) == home && strings.HasPrefix(filepath.Base(name), ".")
			if within != "." && name != from && (!inHome || kind&fs.ModeSymlink != 0 || kind.IsDir() && filepath.Dir(name) == home) {
				t.Errorf("%s: it left %s behind", what, within)
			}
		}
	}
}

func FuzzInstall(f *testing.F) {
	f.Add(archive(f, file(skill.File, head), file("scripts/x.py", "import os")))
	f.Add(archive(f, file("evil/"+skill.File, head)))
	f.Add(archive(f, file(skill.File, head), file("../x", "y")))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		from := filepath.Join(base, "x.zip")
		if err := os.WriteFile(from, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := skill.New(filepath.Join(base, "data"))
		r, err := s.Install("local", from, false)
		if err == nil && r.Skill.Problem != "" {
			t.Errorf("a skill was installed that cannot be used: %+v", r)
		}
		for name, kind := range below(t, base) {
			if name != base && name != from && !strings.HasPrefix(name, filepath.Join(base, "data")) || kind&fs.ModeSymlink != 0 {
				t.Errorf("it left %s behind", name)
			}
		}
	})
}
