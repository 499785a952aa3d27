package run

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a schedule means the same on machines without a database of time zones
)

// Schedule is a cron expression in a time zone: minute, hour, day of month, month, day of week. Lists, ranges, steps and
// the English names of months and days are understood, and the short forms @hourly, @daily, @weekly, @monthly and
// @yearly. Where both days are restricted, either is enough, as in cron.
//
// A time that the clocks skip in spring has no firing that day; one that they repeat in autumn has one, the first.
type Schedule struct {
	minute, hour, day, month, weekday uint64 // sets of numbers
	anyDay, anyWeekday                bool
	zone                              *time.Location
}

var shortSchedules = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

var (
	monthNames = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")
	dayNames   = strings.Fields("sun mon tue wed thu fri sat")
)

// ParseSchedule reads an expression; an empty zone is UTC.
func ParseSchedule(text, zone string) (*Schedule, error) {
	s := &Schedule{zone: time.UTC}
	if zone != "" {
		var err error
		// "Local" would mean something else on every machine.
		if s.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return nil, Invalidf("timezone", "%q is not the name of a time zone, such as Europe/Berlin", zone)
		}
	}
	if long, ok := shortSchedules[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = long
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return nil, Invalidf("schedule", "must have five fields: minute, hour, day of month, month, day of week")
	}
	for i, f := range []struct {
		set      *uint64
		min, max int
		names    []string
		first    int // number of the first name
		what     string
	}{
		{&s.minute, 0, 59, nil, 0, "minute"}, {&s.hour, 0, 23, nil, 0, "hour"}, {&s.day, 1, 31, nil, 0, "day of month"},
		{&s.month, 1, 12, monthNames, 1, "month"}, {&s.weekday, 0, 7, dayNames, 0, "day of week"},
	} {
		set, err := parseField(fields[i], f.min, f.max, f.names, f.first)
		if err != nil {
			return nil, Invalidf("schedule", "%s %q: %v", f.what, fields[i], err)
		}
		*f.set = set
	}
	if s.weekday&(1<<7) != 0 { // Sunday is 0 and 7
		s.weekday |= 1
	}
	s.anyDay, s.anyWeekday = strings.HasPrefix(fields[2], "*"), strings.HasPrefix(fields[4], "*")
	if s.Next(time.Now()).IsZero() {
		return nil, Invalidf("schedule", "there is no such day")
	}
	return s, nil
}

func parseField(text string, lowest, highest int, names []string, first int) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, errors.New("the step must be a positive number")
			}
		}
		from, to := lowest, highest
		if span != "*" {
			a, b, isRange := strings.Cut(span, "-")
			if from, err = parseNumber(a, names, first); err != nil {
				return 0, err
			}
			switch {
			case isRange:
				if to, err = parseNumber(b, names, first); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if from < lowest || to > highest || from > to {
			return 0, fmt.Errorf("must be between %d and %d", lowest, highest)
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

func parseNumber(text string, names []string, first int) (int, error) {
	for i, n := range names {
		if strings.EqualFold(n, text) {
			return i + first, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// Next is the first time after t that the schedule names; zero if there is none within five years.
func (s *Schedule) Next(t time.Time) time.Time {
	t = t.In(s.zone).Truncate(time.Minute).Add(time.Minute)
	for limit := t.AddDate(5, 0, 0); t.Before(limit); {
		switch {
		case s.month&(1<<int(t.Month())) == 0:
			t = s.later(t, time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, s.zone))
		case !s.onDay(t):
			t = s.later(t, time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, s.zone))
		case s.hour&(1<<t.Hour()) == 0:
			// By duration, not by the clock: an hour that the clocks repeat or skip must not turn us back.
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case s.minute&(1<<t.Minute()) == 0, s.repeated(t):
			t = t.Add(time.Minute)
		default:
			return t.UTC()
		}
	}
	return time.Time{}
}

// later is the candidate, or an hour on where a change of the clocks makes it lie before.
func (s *Schedule) later(t, candidate time.Time) time.Time {
	if candidate.After(t) {
		return candidate
	}
	return t.Add(time.Hour)
}

// repeated reports that the clocks showed this time once before, an hour ago or less.
func (s *Schedule) repeated(t time.Time) bool {
	for _, back := range []time.Duration{30 * time.Minute, time.Hour} {
		if b := t.Add(-back); b.Hour() == t.Hour() && b.Minute() == t.Minute() && b.Day() == t.Day() {
			return s.hour != 1<<24-1 // one that fires every hour does so in both
		}
	}
	return false
}

func (s *Schedule) onDay(t time.Time) bool {
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<int(t.Weekday())) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
