package search

import ("testing";"os";"strings";"fmt")

func TestHeldOut(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{FS: library(t)}}})
	data, _ := os.ReadFile("/tmp/docswork/heldout.tsv")
	n, hit, none, quiet := 0, 0, 0, 0
	mrr := 0.0
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		found, err := ix.Search(t.Context(), f[2], 10)
		if err != nil { t.Fatal(err) }
		if f[0] == "n" { none++; if len(found) == 0 { quiet++ } else { fmt.Println("answered", f[2], found[0].Path) }; continue }
		n++
		seen := map[string]bool{}
		rank := 0
		for _, p := range found { if !seen[p.Path] { seen[p.Path] = true; if p.Path == f[1] { rank = len(seen) } } }
		if rank > 0 { mrr += 1/float64(rank) }
		if rank > 0 && rank <= 5 { hit++ } else { fmt.Println("missed", f[2], rank, len(found)) }
	}
	fmt.Printf("held out: recall@5 %d/%d, MRR %.3f, none %d/%d\n", hit, n, mrr/float64(n), quiet, none)
}
