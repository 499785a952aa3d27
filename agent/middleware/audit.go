package middleware

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Danger is what the audit thinks of a command.
type Danger int

const (
	Pass  Danger = iota
	Warn         // it is carried out, and both the model and people are told
	Block        // it is not
)

// Classify says how dangerous a line of shell is, and why. It knows what does harm by mistake or on the word of a page that was read. It is
// no sandbox: whoever wants to hide a command from it can, and a sandbox is what holds then.
func Classify(line string) (Danger, string) { return classify(line, 0) }

// deepest is how far commands within commands are looked at.
const deepest = 6

var (
	forkBomb = regexp.MustCompile(`\(\)\s*\{[^}]*\|[^}]*&[^}]*\}`)
	secrets  = regexp.MustCompile(`/etc/(shadow|gshadow|sudoers)|/\.ssh/|id_rsa|/proc/(self|[0-9]+|\*)/environ|169\.254\.169\.254|metadata\.google\.internal|/\.aws/credentials`)
	preload  = regexp.MustCompile(`^(LD_PRELOAD|LD_LIBRARY_PATH)=|^/etc/ld\.so\.preload$`)
	device   = regexp.MustCompile(`^/dev/(sd|hd|vd|xvd|nvme|mmcblk|mem|kmem|port)`)
)

func classify(line string, depth int) (worst Danger, why string) {
	if depth > deepest {
		return Block, "it has commands within commands, deeper than can be looked through"
	}
	note := func(d Danger, reason string) {
		if d > worst {
			worst, why = d, reason
		}
	}
	if forkBomb.MatchString(line) {
		return Block, "it is a fork bomb"
	}
	commands, inner := parseShell(line)
	for _, in := range inner {
		note(classify(in, depth+1))
	}
	fetched := false // what a pipe carries comes from elsewhere
	for _, c := range commands {
		name, args := program(c.words)
		if !c.piped {
			fetched = false
		}
		if fetched && interpreter(name) && !slices.ContainsFunc(args, func(a string) bool { return a != "-" && !strings.HasPrefix(a, "-") }) {
			note(Block, "it runs what it fetched or decoded without anybody having seen it")
		}
		fetched = fetched || slices.Contains([]string{"curl", "wget", "fetch", "base64", "xxd", "openssl"}, name)
		note(judge(name, args, c))
		for _, nested := range scripts(name, args) {
			note(classify(nested, depth+1))
		}
		if (name == "eval" || name == "source" || name == ".") && slices.Contains(args, "$()") && slices.ContainsFunc(inner, downloads) {
			note(Block, "it runs what it fetched without anybody having seen it")
		}
	}
	return worst, why
}

func downloads(line string) bool {
	commands, _ := parseShell(line)
	return slices.ContainsFunc(commands, func(c simple) bool {
		name, _ := program(c.words)
		return name == "curl" || name == "wget"
	})
}

// program is the name of what a command runs, without its folder and what only surrounds it.
func program(words []string) (name string, args []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch base := path.Base(w); {
		case assignment(w):
		case slices.Contains([]string{"sudo", "doas", "env", "command", "nohup", "time", "nice", "exec", "xargs", "busybox", "then", "do", "else", "!", "if", "while"}, base):
			for i+1 < len(words) && strings.HasPrefix(words[i+1], "-") {
				i++
			}
		case base == "timeout":
			for i+1 < len(words) && (strings.HasPrefix(words[i+1], "-") || words[i+1] != "" && words[i+1][0] >= '0' && words[i+1][0] <= '9') {
				i++
			}
		default:
			return base, words[i+1:]
		}
	}
	return "", nil
}

func assignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

func interpreter(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "php"}, name)
}

// scripts are lines of shell among the arguments of a command.
func scripts(name string, args []string) []string {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh":
		for i, a := range args {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && i+1 < len(args) {
				return args[i+1 : i+2]
			}
		}
	case "eval":
		return []string{strings.Join(args, " ")}
	case "find":
		for i, a := range args {
			if a == "-exec" || a == "-execdir" || a == "-ok" {
				return []string{strings.Join(args[i+1:], " ")}
			}
		}
	}
	return nil
}

// judge looks at one command.
func judge(name string, args []string, c simple) (Danger, string) {
	for _, w := range slices.Concat(c.words, c.into) {
		switch {
		case secrets.MatchString(w):
			return Block, "it reaches for keys or passwords (" + clipped(w) + ")"
		case preload.MatchString(w):
			return Block, "it changes what other programs load"
		case strings.HasPrefix(w, "/dev/tcp/"), strings.HasPrefix(w, "/dev/udp/"):
			return Block, "it opens a connection past every other tool"
		}
	}
	for _, target := range c.into {
		switch {
		case device.MatchString(target):
			return Block, "it writes to a disk itself"
		case systemPath(target):
			return Block, "it overwrites a file of the system (" + clipped(target) + ")"
		}
	}
	flag := func(letters ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains(letters, a) || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(letters[0]) == 2 && strings.Contains(a, letters[0][1:])
		})
	}
	switch {
	case strings.HasPrefix(name, "mkfs"), slices.Contains([]string{"fdisk", "parted", "wipefs", "mkswap"}, name):
		return Block, "it formats or divides a disk"
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name):
		return Block, "it ends the machine"
	case name == "dd" && slices.ContainsFunc(args, func(a string) bool {
		return device.MatchString(strings.TrimPrefix(a, "of=")) && strings.HasPrefix(a, "of=")
	}):
		return Block, "it writes to a disk itself"
	case slices.Contains([]string{"nc", "ncat", "netcat", "socat"}, name) && (flag("-e") || flag("-c") || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.ToLower(a), "exec:") })):
		return Block, "it gives a shell to somebody else"
	case name == "rm" && (flag("-r", "--recursive") || flag("-R")):
		for _, a := range args {
			if !strings.HasPrefix(a, "-") && (wholeTree(a) || systemPath(a)) {
				return Block, "it removes " + clipped(a)
			}
		}
		if flag("-f", "--force") && slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "*$") && !strings.HasPrefix(a, "-") }) {
			return Warn, "it removes whatever a pattern or a variable stands for"
		}
	case (name == "chmod" || name == "chown" || name == "mv") && slices.ContainsFunc(args, func(a string) bool { return a == "/" || a == "/*" || systemPath(a) && name != "mv" }):
		return Block, "it changes the system's own files"
	}
	return habits(name, args, c)
}

// habits are commands that are often right, and worth a word.
func habits(name string, args []string, c simple) (Danger, string) {
	has := func(list ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(list, a) })
	}
	switch {
	case slices.ContainsFunc(c.words, func(w string) bool { return w == "sudo" || w == "doas" }), name == "su":
		return Warn, "it wants to be somebody else"
	case name == "chmod" && has("777", "-R777", "0777", "a+rwx", "o+w"):
		return Warn, "it lets everybody write"
	case slices.Contains([]string{"pip", "pip3", "npm", "yarn", "apt", "apt-get", "yum", "dnf", "apk", "gem", "cargo", "go", "brew"}, name) && has("install", "add"):
		return Warn, "it installs programs of others"
	case slices.Contains([]string{"kill", "pkill", "killall"}, name):
		return Warn, "it ends other programs"
	case name == "git" && has("push") && has("--force", "-f", "--force-with-lease"):
		return Warn, "it rewrites what others have"
	case name == "crontab", name == "systemctl", name == "service", name == "iptables":
		return Warn, "it changes how the machine works"
	}
	return Pass, ""
}

// wholeTree reports a name for everything somebody has.
func wholeTree(p string) bool {
	p = strings.TrimSuffix(strings.TrimSuffix(p, "*"), "/")
	return p == "" || p == "~" || p == "$HOME" || p == "${HOME}" || p == "/home" || p == "/root" || p == "/mnt" || p == "/mnt/user-data" || p == "/mnt/user-data/uploads"
}

// systemPath reports a name of a folder or a file that belongs to the machine.
func systemPath(p string) bool {
	if !strings.HasPrefix(p, "/") {
		return false
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(p), "/"), "/")
	return slices.Contains([]string{"bin", "boot", "etc", "lib", "lib64", "proc", "sbin", "sys", "usr", "var"}, top)
}

func clipped(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
