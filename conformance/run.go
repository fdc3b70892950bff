package conformance

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Options say what Run does. The zero value replays every recording.
type Options struct {
	// Match chooses recordings by their names; nil means all.
	Match *regexp.Regexp
	// Seeds is the number of seeded schedules to try after those in order; default Seeds.
	Seeds int
	// Verbose prints all differences of the run in order and of the best schedule.
	Verbose bool

	// known has, by case, a schedule that is tried before all others.
	known map[string]Schedule
}

// Result is the verdict on one recording.
type Result struct {
	Case string
	// Schedule is the first that agreed, if there are no Differences.
	Schedule Schedule
	// Differences are the differences of the run in order, if no schedule agreed: of the first
	// step that differs, or, if all were asked for, of all steps.
	Differences []Difference
	// Best is the schedule that agreed longest if none agreed to the end, and
	// BestDifferences its differences.
	Best            Schedule
	BestDifferences []Difference
	// Tried is the number of schedules that were tried.
	Tried int

	verbose bool
}

// String returns one line, or, if all differences were asked for, a line for each.
func (r Result) String() string {
	if len(r.Differences) == 0 {
		if r.Schedule.inOrder() {
			return "pass " + r.Case
		}
		return fmt.Sprintf("pass %s (%s)", r.Case, r.Schedule)
	}
	line := "differs " + r.Case
	if reason, pending := Pending()[r.Case]; pending {
		line += " (pending: " + reason + ")"
	}
	if !r.verbose {
		return line + ": " + r.Differences[0].String()
	}
	lines := []string{line, "  in order:"}
	for _, d := range r.Differences {
		lines = append(lines, "    "+d.String())
	}
	if !r.Best.inOrder() {
		lines = append(lines, fmt.Sprintf("  best of %d schedules, %s:", r.Tried, r.Best))
		for _, d := range r.BestDifferences {
			lines = append(lines, "    "+d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// Check replays one recording under one schedule after the other until one agrees,
// on all cores: the result does not depend on how many there are. The error is about
// the recording, not about what it shows.
func Check(rec *Recording, options Options) (Result, error) { return check(rec, options, cores()) }

func check(rec *Recording, options Options, limit chan struct{}) (Result, error) {
	if schedule, known := options.known[rec.Case]; known {
		differences, err := run(rec, schedule, false)
		if err != nil || len(differences) == 0 {
			return Result{Case: rec.Case, Schedule: schedule, Tried: 1, verbose: options.Verbose}, err
		}
	}
	s := newSearch(rec, limit)
	seeds := options.Seeds
	if seeds == 0 {
		seeds = Seeds
	}
	found, err := s.run(seeds)
	result := Result{Case: rec.Case, Tried: s.runs, verbose: options.Verbose}
	if err != nil {
		return result, err
	}
	if len(found.differences) == 0 {
		result.Schedule = found.schedule
		return result, nil
	}
	result.Differences = found.differences
	result.Best, result.BestDifferences = s.best.schedule, s.best.differences
	if options.Verbose {
		if result.Differences, err = run(rec, Schedule{}, true); err == nil {
			result.BestDifferences, err = run(rec, s.best.schedule, true)
		}
	}
	return result, err
}

// Run replays the recordings in dir and prints for each, in order of name, that it
// agrees, and under which schedule if not in order, or how it differs, or why it cannot be
// replayed. It returns how many do not agree; the error is one of reading or replaying the recordings.
func Run(dir string, w io.Writer, options Options) (failed int, err error) {
	paths, err := list(dir)
	if err != nil {
		return 0, err
	}
	var recordings []*Recording
	for _, path := range paths {
		rec, err := Load(path)
		switch {
		case err != nil: // the others can be read
			failed++
			if _, err := fmt.Fprintln(w, "cannot read", err); err != nil {
				return failed, err
			}
		case options.Match == nil || options.Match.MatchString(rec.Case):
			recordings = append(recordings, rec)
		}
	}
	if len(recordings) == 0 && options.Match != nil {
		return 0, fmt.Errorf("none of the %d recordings in %s has a name that matches %q", len(paths), dir, options.Match)
	}
	for verdict := range checkAll(recordings, options) {
		line := verdict.String()
		switch impossible := (*stepError)(nil); {
		case errors.As(verdict.err, &impossible): // the others can be replayed
			line = "cannot replay " + verdict.err.Error()
			failed++
		case verdict.err != nil:
			return failed, verdict.err
		case len(verdict.Differences) > 0:
			failed++
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// verdict is a Result, or the error instead of it.
type verdict struct {
	Result
	err error
}

// checkAll checks recordings on all cores and yields the verdicts in their order.
func checkAll(recordings []*Recording, options Options) func(yield func(verdict) bool) {
	return func(yield func(verdict) bool) {
		limit := cores()
		stop := make(chan struct{})
		defer close(stop)
		verdicts := make([]chan verdict, len(recordings))
		for i := range verdicts {
			verdicts[i] = make(chan verdict, 1)
		}
		next := make(chan int)
		go func() {
			defer close(next)
			for i := range recordings {
				select {
				case next <- i:
				case <-stop:
					return
				}
			}
		}()
		for range cap(limit) {
			go func() {
				for i := range next {
					result, err := check(recordings[i], options, limit)
					verdicts[i] <- verdict{result, err}
				}
			}()
		}
		for _, v := range verdicts {
			if !yield(<-v) {
				return
			}
		}
	}
}
