package sqlite

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

// A thread that is deleted leaves nothing of its runs behind, not even what was wanted of them.
func TestWishesGoWithTheirThread(t *testing.T) {
	db := openPlain(t)
	_, err := db.CreateRun(t.Context(), owner, run.NewRun{ID: "r", Thread: "t", At: now(), Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.RequestTaskCancel(t.Context(), owner, "r", "helper"); err != nil {
		t.Fatal(err)
	}
	if tasks, err := db.CancelledTasks(t.Context(), "r"); err != nil || len(tasks) != 1 {
		t.Fatalf("noted is %v, %v", tasks, err)
	}
	if _, err := db.DeleteThread(t.Context(), owner, "t"); err != nil {
		t.Fatal(err)
	}
	if n, err := db.count(t.Context(), "SELECT count(*) FROM cancelled_tasks"); err != nil || n != 0 {
		t.Errorf("%d wishes are left, %v", n, err)
	}
}
