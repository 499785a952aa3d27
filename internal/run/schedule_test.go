package run_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestSchedulesNameTheirNextTime(t *testing.T) {
	for _, c := range []struct{ schedule, zone, after, want string }{
		{"*/5 * * * *", "", "2026-11-15T03:38:09Z", "2026-11-15T03:40:00Z"},
		{"*/5 9-17 * * mon-fri", "Europe/Berlin", "2026-11-15T03:38:09Z", "2026-11-16T08:00:00Z"},
		{"0 9 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"},
		{"0 0 1 1 *", "", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"@daily", "Asia/Tokyo", "2026-01-01T00:00:00Z", "2026-01-01T15:00:00Z"},
		{"0 12 29 feb *", "", "2026-01-01T00:00:00Z", "2028-02-29T12:00:00Z"},
		{"0 0 13 * 5", "", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z"},              // either day is enough
		{"0 0 * * 7", "", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"},               // 7 is Sunday
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"}, // skipped in spring
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"}, // repeated in autumn: the first
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, // and not the second
		{"59 23 31 12 *", "Pacific/Auckland", "2026-12-31T10:58:00Z", "2026-12-31T10:59:00Z"},
	} {
		s, err := run.ParseSchedule(c.schedule, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.schedule, err)
			continue
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		if got := s.Next(after).Format(time.RFC3339); got != c.want {
			t.Errorf("%q in %q after %s: got %s, want %s", c.schedule, c.zone, c.after, got, c.want)
		}
	}
}

func TestSchedulesThatMakeNoSense(t *testing.T) {
	for _, s := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "a * * * *", "0 0 31 2 *", "-1 * * * *"} {
		if _, err := run.ParseSchedule(s, ""); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
	for _, z := range []string{"Mars/Olympus", "Local", "../etc/passwd"} {
		if _, err := run.ParseSchedule("* * * * *", z); err == nil {
			t.Errorf("the zone %q was accepted", z)
		}
	}
}

// TestASchedulesTimesRise is the law that keeps a cron from firing for ever at one moment.
func TestASchedulesTimesRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}).Draw(t, "zone")
		text := rapid.SampledFrom([]string{"*/7 * * * *", "0 * * * *", "30 2 * * *", "15 1,2,3 * * sun", "0 0 1 * *", "45 23 28-31 * *"}).Draw(t, "schedule")
		s, err := run.ParseSchedule(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "at"), 0)
		for range 20 {
			next := s.Next(at)
			if !next.After(at) {
				t.Fatalf("after %v comes %v", at, next)
			}
			at = next
		}
	})
}
