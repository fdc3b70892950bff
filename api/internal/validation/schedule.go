package validation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scheduleField is one of the five fields of a schedule: the numbers that it may have, and words for them.
type scheduleField struct {
	min, max uint64
	words    string // after the first, in order from min
}

var scheduleFields = [...]scheduleField{
	{0, 59, ""}, {0, 23, ""}, {1, 31, ""},
	{1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
	{0, 6, "sun mon tue wed thu fri sat"},
}

// checkSchedule says why a text is no schedule of a CronJob, with the words of the library that a controller reads it with.
// Upstream: robfig/cron v3.0.1 parser.go Parse and getRange, as pkg/util/parsers ParseCronScheduleWithPanicRecovery calls them, v1.37.
func checkSchedule(text string) error {
	if text == "" {
		return fmt.Errorf("empty spec string")
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		zone, rest, ok := strings.Cut(text, " ")
		if !ok {
			return fmt.Errorf("invalid CRON_TZ/TZ spec: %s", text)
		}
		_, name, _ := strings.Cut(zone, "=")
		if _, err := time.LoadLocation(name); err != nil {
			return fmt.Errorf("provided bad location %s: %w", name, err)
		}
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "@") {
		return checkDescriptor(text)
	}
	fields := strings.Fields(text)
	if len(fields) != len(scheduleFields) {
		return fmt.Errorf("expected exactly %d fields, found %d: %s", len(scheduleFields), len(fields), fields)
	}
	for i, field := range fields {
		for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == ',' }) {
			if err := scheduleFields[i].check(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDescriptor checks a schedule that has a name.
func checkDescriptor(text string) error {
	switch text {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("failed to parse duration %s: %w", text, err)
		}
		return nil
	}
	return fmt.Errorf("unrecognized descriptor: %s", text)
}

// check checks a range: number | number "-" number [ "/" number ].
func (f scheduleField) check(text string) error {
	span, step, stepped := strings.Cut(text, "/")
	if strings.Contains(step, "/") {
		return fmt.Errorf("too many slashes: %s", text)
	}
	from, to, ranged := strings.Cut(span, "-")
	start, end := f.min, f.max
	var err error
	if from != "*" && from != "?" {
		if start, err = f.number(from); err != nil {
			return err
		}
		switch {
		case strings.Contains(to, "-"):
			return fmt.Errorf("too many hyphens: %s", text)
		case ranged:
			if end, err = f.number(to); err != nil {
				return err
			}
		case !stepped:
			end = start
		}
	}
	if stepped {
		n, err := number(step)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("step of range should be a positive number: %s", text)
		}
	}
	switch {
	case start < f.min:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", start, f.min, text)
	case end > f.max:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", end, f.max, text)
	case start > end:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", start, end, text)
	}
	return nil
}

// number reads a number or a word.
func (f scheduleField) number(text string) (uint64, error) {
	for i, word := range strings.Fields(f.words) {
		if strings.EqualFold(word, text) {
			return f.min + uint64(i), nil
		}
	}
	return number(text)
}

func number(text string) (uint64, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, text)
	}
	return uint64(n), nil
}
