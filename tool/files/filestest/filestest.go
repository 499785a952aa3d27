// Package filestest has the paths with which every tool and every route is tried that takes one.
package filestest

import "strings"

// corpus are paths that want to get out. %s is the real folder that has the trap.
var corpus = []string{
	// dots
	"../trap.txt", "../../trap.txt", "../../../trap.txt", "./../trap.txt", "a/../../trap.txt", "a/b/../../../../trap.txt", "..", "../..", "../../..",
	"....//....//trap.txt", "..././..././trap.txt", ".../trap.txt", "..;/..;/trap.txt", "../uploads/../../trap.txt", "a/./.././../trap.txt",
	"/mnt/user-data/../trap.txt", "/mnt/user-data/workspace/../../trap.txt", "/mnt/user-data/workspace/../trap.txt", "/mnt/user-data/outputs/../../../trap.txt",
	"/mnt/user-data/workspace/../../user-data/../trap.txt", "/mnt/user-data/trap.txt", "/mnt/user-data/./trap.txt", "/mnt/user-data//../trap.txt",
	"/mnt/user-data/workspacex/../../trap.txt", "/mnt/user-data/workspace../trap.txt", "/mnt/user-data-evil/workspace/trap.txt", "/mnt/user-datax/trap.txt",
	// absolute
	"/trap.txt", "//trap.txt", "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/proc/self/root/trap.txt", "/dev/null", "/mnt", "/", "//", "%s/trap.txt", "/%s/trap.txt", "%s", "%s/thread/trap.txt",
	"/mnt/user-data/workspace/%s/trap.txt", "/mnt/user-data/workspace//%s/../trap.txt", "file://%s/trap.txt", "file:///etc/passwd", "~/trap.txt", "~root/.ssh/id_rsa", "$HOME/trap.txt", "${PWD}/../trap.txt",
	// encoded, twice encoded, overlong
	"%%2e%%2e%%2ftrap.txt", "%%2e%%2e/%%2e%%2e/trap.txt", "..%%2ftrap.txt", "..%%2f..%%2ftrap.txt", "%%252e%%252e%%252ftrap.txt", "..%%252f..%%252ftrap.txt", "%%25252e%%25252e/trap.txt", "..%%c0%%aftrap.txt", "..%%c1%%9ctrap.txt", "%%c0%%ae%%c0%%ae/trap.txt",
	"/mnt/user-data/workspace/%%2e%%2e/%%2e%%2e/trap.txt", "%%u002e%%u002e/trap.txt", "&#46;&#46;/trap.txt", `\u002e\u002e/trap.txt`, "..\xc0\xaf..\xc0\xaftrap.txt", "\xc0\xae\xc0\xae/trap.txt", "=2E=2E/trap.txt",
	// backslashes and other systems
	`..\trap.txt`, `..\..\trap.txt`, `\..\trap.txt`, `\mnt\user-data\workspace\..\..\trap.txt`, `..\/..\/trap.txt`, `/mnt/user-data\..\..\trap.txt`, `C:\trap.txt`, "C:/trap.txt", "C:trap.txt", `\\?\C:\trap.txt`, `\\server\share\trap.txt`, `..%%5ctrap.txt`, `..%%255ctrap.txt`,
	// bytes that end or break a name
	"trap.txt\x00", "../trap.txt\x00.md", "\x00../trap.txt", "a\x00/../../trap.txt", "/mnt/user-data/workspace/\x00/../../../trap.txt", "..\x00/trap.txt", "../trap.txt%%00.md", "..\n/trap.txt", "../trap.txt\r\n", "\t../trap.txt", "..\u2028/trap.txt", "\x1b[2K../trap.txt", "\x7f../trap.txt",
	// look-alikes
	"․․/trap.txt", "‥/trap.txt", "…/trap.txt", "．．/trap.txt", "．．／trap.txt", "..∕trap.txt", "..⁄trap.txt", "..／..／trap.txt", "..＼trap.txt", "。。/trap.txt", ".\u200b./trap.txt", ".\u200d./trap.txt", "\u202e../trap.txt", "\ufeff../trap.txt", "..\u00a0/trap.txt", ".\u0307/trap.txt",
	"/mnt/user-dаta/trap.txt", "/mnt／user-data/trap.txt", "/ｍnt/user-data/../trap.txt",
	// spaces and ends
	" ../trap.txt", ".. /trap.txt", "../trap.txt ", "../trap.txt/", "../trap.txt/.", "../trap.txt.", "..../trap.txt", ". ./trap.txt", "../trap.txt::$DATA", "../trap.txt:stream",
	// links that are there
	"file", "dir/trap.txt", "dir", "absolute", "root/etc/passwd", "twice", "twice/trap.txt", "up/trap.txt", "up/uploads/trap.txt", "up/thread/trap.txt", "given/new.txt", "loop", "loop/trap.txt", "dir/../trap.txt", "up/../trap.txt",
	"/mnt/user-data/workspace/file", "/mnt/user-data/workspace/dir/trap.txt", "/mnt/user-data/workspace/given/new.txt", "/mnt/user-data/outputs/dir/trap.txt", "/mnt/user-data/outputs/file",
	// uploads are for reading
	"/mnt/user-data/uploads/new.txt", "../uploads/new.txt", "/mnt/user-data/workspace/../uploads/new.txt", "/mnt/user-data/uploads", "/mnt/user-data/outputs/../uploads/a/new.txt", "given",
}

// Paths are those that want to reach trap.txt in a folder, from the folders of a thread that is below it: by dots, absolute, encoded once or
// more, with bytes that end or break a name, with look-alikes, too long, and by links that whoever uses them has put there.
func Paths(outer string) []string {
	out := []string{
		strings.Repeat("../", 1000) + "trap.txt", strings.Repeat("a/", 1000) + strings.Repeat("../", 1002) + "trap.txt", strings.Repeat("a", 300), strings.Repeat("a", 300) + "/../../trap.txt",
		strings.Repeat("x/", 5000) + "trap.txt", "/" + strings.Repeat("/", 4000) + "trap.txt", strings.Repeat("ü", 200), "",
	}
	for _, c := range corpus {
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(c, "%s", outer), "%%", "%"))
	}
	return out
}
