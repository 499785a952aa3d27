package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// Claiming costs what is claimed, not what waits. A claim that walks what waits takes hundreds of times as long in the larger
// of these two queues; the best of several tries is compared, so that a busy machine changes little.
func TestClaimingFollowUpsCostsNoMoreWhereMuchWaits(t *testing.T) {
	best := func(waiting int) time.Duration {
		db := openPlain(t)
		past, later := now().Add(-time.Hour), now().Add(time.Hour)
		var all []run.FollowUp
		for i := range waiting {
			all = append(all, run.FollowUp{Key: fmt.Sprint("due", i), Kind: "k", Lane: "slow", CreatedAt: past, NextAt: past},
				run.FollowUp{Key: fmt.Sprint("later", i), Kind: "k", Lane: "slow", CreatedAt: past, NextAt: later})
		}
		for i := range 30 {
			all = append(all, run.FollowUp{Key: fmt.Sprint("other", i), Kind: "k", Lane: fmt.Sprint("lane", i), CreatedAt: past, NextAt: past})
		}
		if err := db.write(t.Context(), false, func(ctx context.Context, tx *tx) error { return tx.addFollowUps(ctx, all) }); err != nil {
			t.Fatal(err)
		}
		least := time.Hour
		for i := range 10 {
			began := time.Now()
			got, err := db.ClaimFollowUps(t.Context(), run.FollowUpClaim{Worker: "w", Kind: "k", Lease: time.Hour, Most: 3, PerLane: 2})
			least = min(least, time.Since(began))
			if err != nil || len(got) != 3 {
				t.Fatalf("claim %d of %d that wait: %d follow-ups, %v", i, waiting, len(got), err)
			}
		}
		return least
	}
	few, many := best(20), best(4000)
	if many > 20*few {
		t.Errorf("with 4000 that wait a claim takes %v, with 20 %v", many, few)
	}
	t.Logf("with 20 that wait %v, with 4000 %v", few, many)
}
