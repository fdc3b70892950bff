package conformance

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Schedule is one way the simulation can go.
type Schedule struct {
	// Phase is how much of the controllers' resync period had passed when the
	// recording began.
	Phase time.Duration
	// Seed chooses the interleaving; 0 is in order.
	Seed uint64
}

func (s Schedule) String() string {
	var parts []string
	if s.Seed != 0 {
		parts = append(parts, fmt.Sprintf("seed %d", s.Seed))
	}
	if s.Phase != 0 {
		parts = append(parts, fmt.Sprintf("resync phase %s", s.Phase))
	}
	if len(parts) == 0 {
		return "in order"
	}
	return strings.Join(parts, ", ")
}

// resync is the period of the PV controller, which phases divide.
const resync = 15 * time.Second

// seeds is how many random interleavings are tried.
const seeds = 400

// schedules are the schedules to try, in this order: see doc.go.
func schedules() []Schedule {
	var list []Schedule
	for phase := time.Duration(0); phase < resync; phase += time.Second {
		list = append(list, Schedule{Phase: phase})
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		// 7 and 15 have no common divisor: neighbouring seeds have distant
		// phases, and every phase occurs as often as any other.
		list = append(list, Schedule{Seed: seed, Phase: time.Duration(seed*7%15) * time.Second})
	}
	return list
}

// Pending are the cases that need something the simulation does not have yet,
// by name, with what that is. They count as different until it is there, and
// then the tests fail until they are taken off this list.
func Pending() map[string]string {
	return map[string]string{
		"csi_attach_detach": "there is no attach/detach controller yet",
	}
}

// Result is the verdict on one recording.
type Result struct {
	Case string
	// Schedule is the first that agreed, if Difference is nil.
	Schedule Schedule
	// Difference is that of the run in order, if no schedule agreed.
	Difference *Difference
}

func (r Result) String() string {
	switch {
	case r.Difference != nil:
		if reason, pending := Pending()[r.Case]; pending {
			return fmt.Sprintf("differs %s (pending: %s): %s", r.Case, reason, r.Difference)
		}
		return fmt.Sprintf("differs %s: %s", r.Case, r.Difference)
	case r.Schedule != Schedule{}:
		return fmt.Sprintf("pass %s (%s)", r.Case, r.Schedule)
	}
	return "pass " + r.Case
}

// Check replays one recording under one schedule after the other until one
// agrees. The error is about the recording, not about what it shows.
func Check(rec *Recording) (Result, error) {
	result := Result{Case: rec.Case}
	for i, schedule := range schedules() {
		difference, err := run(rec, schedule)
		if err != nil {
			return result, err
		}
		if difference == nil {
			return Result{Case: rec.Case, Schedule: schedule}, nil
		}
		if i == 0 {
			result.Difference = difference
		}
	}
	return result, nil
}

// Run replays every recording in dir and prints one line a case: that it agrees,
// and under which schedule if not in order, or the first difference. It returns
// how many differ; the error is one of reading or replaying the recordings.
func Run(dir string, w io.Writer) (failed int, err error) {
	recordings, err := LoadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, rec := range recordings {
		result, err := Check(rec)
		if err != nil {
			return failed, err
		}
		if result.Difference != nil {
			failed++
		}
		if _, err := fmt.Fprintln(w, result); err != nil {
			return failed, err
		}
	}
	return failed, nil
}
