// Package cron computes when a schedule of a CronJob is due.
//
// Upstream: robfig/cron v3.0.1 parser.go ParseStandard and spec.go Next, which v1.37's CronJob controller calls. Where a zone's clock is moved at midnight, a time that does not exist there is left out.
package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // as kube-controller-manager has it: zones do not depend on the machine
)

// Schedule says when something is due.
type Schedule struct {
	every                         time.Duration // of @every; 0 for the others
	minute, hour, day, month, dow uint64        // a bit for each number
	anyDay, anyDow                bool          // the field is * or ?
	zone                          *time.Location
}

// field is one of the five fields: its numbers, and words for them.
type field struct {
	min, max uint64
	words    string // after the first, in order from min
}

var fields = [...]field{
	{0, 59, ""}, {0, 23, ""}, {1, 31, ""}, {1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {0, 6, "sun mon tue wed thu fri sat"},
}

// descriptors are the schedules that have names.
var descriptors = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads a schedule, which may begin with TZ=ZONE or CRON_TZ=ZONE; it is one of UTC else.
func Parse(text string) (*Schedule, error) {
	s := &Schedule{zone: time.UTC}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		zone, rest, _ := strings.Cut(text, " ")
		_, name, _ := strings.Cut(zone, "=")
		var err error
		if s.zone, err = time.LoadLocation(name); err != nil {
			return nil, fmt.Errorf("provided bad location %s: %w", name, err)
		}
		text = strings.TrimSpace(rest)
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err != nil {
			return nil, fmt.Errorf("failed to parse duration %s: %w", text, err)
		}
		s.every = max(d.Truncate(time.Second), time.Second)
		return s, nil
	}
	if named, ok := descriptors[text]; ok {
		text = named
	}
	words := strings.Fields(text)
	if len(words) != len(fields) {
		return nil, fmt.Errorf("expected exactly %d fields, found %d: %s", len(fields), len(words), words)
	}
	for i, bits := range []*uint64{&s.minute, &s.hour, &s.day, &s.month, &s.dow} {
		var all bool
		var err error
		if *bits, all, err = fields[i].parse(words[i]); err != nil {
			return nil, err
		}
		s.anyDay, s.anyDow = s.anyDay || i == 2 && all, s.anyDow || i == 4 && all
	}
	return s, nil
}

// parse reads a list of ranges: number | number "-" number [ "/" number ]. all says that one of them is * without a step.
func (f field) parse(text string) (bits uint64, all bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		first, last, by := f.min, f.max, uint64(1)
		if from == "*" || from == "?" {
			all = all || !stepped
		} else {
			if first, err = f.number(from); err != nil {
				return 0, false, err
			}
			if ranged {
				last, err = f.number(to)
			} else if !stepped {
				last = first
			}
		}
		if stepped && err == nil {
			by, err = strconv.ParseUint(step, 10, 32)
		}
		if err != nil || by == 0 || first < f.min || last > f.max || first > last {
			return 0, false, fmt.Errorf("%q is not a range of numbers from %d to %d", part, f.min, f.max)
		}
		for n := first; n <= last; n += by {
			bits |= 1 << n
		}
	}
	return bits, all, nil
}

// number reads a number or a word.
func (f field) number(text string) (uint64, error) {
	for i, word := range strings.Fields(f.words) {
		if strings.EqualFold(word, text) {
			return f.min + uint64(i), nil
		}
	}
	return strconv.ParseUint(text, 10, 32)
}

// horizon is the time after which a schedule that is not due by then never is, such as one for the 31st of February.
const horizon = 5 // years

// Next returns the first time after t at which the schedule is due; the zero time if there is none within five years.
func (s *Schedule) Next(t time.Time) time.Time {
	if s.every > 0 {
		return t.Add(s.every).Truncate(time.Second)
	}
	back := t.Location()
	t = t.In(s.zone).Truncate(time.Minute).Add(time.Minute)
	for end := t.Year() + horizon; t.Year() <= end; {
		switch {
		case s.month&(1<<uint(t.Month())) == 0:
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, s.zone)
		case !s.isDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, s.zone)
		case s.hour&(1<<uint(t.Hour())) == 0:
			t = t.Truncate(time.Minute).Add(time.Duration(60-t.Minute()) * time.Minute)
		case s.minute&(1<<uint(t.Minute())) == 0:
			t = t.Add(time.Minute)
		default:
			return t.In(back)
		}
	}
	return time.Time{}
}

// isDay reports whether the day fits: in both fields, or in one of them if neither is a star.
func (s *Schedule) isDay(t time.Time) bool {
	day, dow := s.day&(1<<uint(t.Day())) != 0, s.dow&(1<<uint(t.Weekday())) != 0
	if s.anyDay || s.anyDow {
		return day && dow
	}
	return day || dow
}
