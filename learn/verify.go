package learn

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/explain"
)

// Result holds the numbers that Verify counted while it played.
type Result struct {
	Exercises int
	// Starts is the number of starts that fail with the symptom that their text names, Answers of answers that pass, Waiting of
	// starts that pass if an hour is waited.
	Starts, Answers, Waiting int
	// Problems say what is not as it should be.
	Problems []string
}

// String returns the line in which verifying ends.
func (r Result) String() string {
	return fmt.Sprintf("%d exercises: %d starts fail as told, %d answers pass, %d pass by waiting", r.Exercises, r.Starts, r.Answers, r.Waiting)
}

// Verify plays each exercise with its start, with an hour of waiting, with its wrong answer and with its answer, and each check
// on the starts of the other exercises of its chapter. It writes a line for each exercise. Those that cannot be played here are
// left out of the numbers.
func Verify(ctx context.Context, out io.Writer, all []*Exercise) (Result, error) {
	var r Result
	for _, e := range all {
		if e.Lacking() != nil {
			if _, err := fmt.Fprintf(out, "%s: not played: %v\n", e.Name, e.Lacking()); err != nil {
				return r, err
			}
			continue
		}
		before := len(r.Problems)
		if err := e.verify(ctx, all, &r); err != nil {
			return r, err
		}
		said := "start, wrong answer and answer as told"
		if n := len(r.Problems) - before; n > 0 {
			said = strings.Join(r.Problems[before:], "\n  ")
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", e.Name, said); err != nil {
			return r, err
		}
	}
	return r, nil
}

// verify plays one exercise.
func (e *Exercise) verify(ctx context.Context, all []*Exercise, r *Result) error {
	wrong := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	start, answer, mistaken := only{e.given}, only{e.given}.with(e.answer), only{e.given}.with(e.wrong)
	r.Exercises++

	began, err := e.Play(ctx, start)
	if err != nil {
		return err
	}
	if p := e.notAsTold(began); p != "" {
		wrong("the start %s", p)
	} else {
		r.Starts++
	}
	waited, err := e.play(ctx, start, time.Hour)
	if err != nil {
		return err
	}
	if waited.Passed() {
		r.Waiting++
		wrong("the start passes if an hour is waited")
	}
	missed, err := e.Play(ctx, mistaken)
	if err != nil {
		return err
	}
	switch report := flat(e.Report(missed, Default)); {
	case missed.Passed():
		wrong("the wrong answer passes")
	case !strings.Contains(report, flat(e.mistake)):
		wrong("the report on the wrong answer lacks %q:\n%s", e.mistake, e.Report(missed, Default))
	case strings.Contains(flat(e.Report(began, Default)), flat(e.mistake)):
		wrong("the report on the start has %q, too", e.mistake)
	}
	mended, err := e.Play(ctx, answer)
	if err != nil {
		return err
	}
	if mended.Passed() && len(mended.Refused) == 0 {
		r.Answers++
	} else {
		wrong("the answer does not pass:\n%s", e.Report(mended, Default))
	}
	return e.verifyOthers(ctx, all, wrong)
}

// notAsTold says in what the start is not as the text says, or "".
func (e *Exercise) notAsTold(o Outcome) string {
	code := explain.Code(e.Rule)
	switch {
	case o.Passed():
		return "passes"
	case !strings.Contains(flat(e.Report(o, Default)), flat(e.symptom)):
		return fmt.Sprintf("does not show %q:\n%s", e.symptom, e.Report(o, Default))
	case !strings.Contains(flat(e.Text(Default).Situation), flat(e.symptom)):
		return fmt.Sprintf("has the symptom %q, which the text does not name", e.symptom)
	case len(o.Problems) > 0:
		return "has mistakes: " + strings.Join(o.Problems, "; ")
	case e.golang == "" && !strings.Contains(e.Rule, " ") && o.code != code:
		return fmt.Sprintf("has the verdict %s, and its rule is %s", o.code, code)
	}
	return ""
}

// verifyOthers plays the check on the starts of the chapter's other exercises.
func (e *Exercise) verifyOthers(ctx context.Context, all []*Exercise, wrong func(string, ...any)) error {
	for _, other := range all {
		if other == e || other.Chapter != e.Chapter || e.golang != "" || other.golang != "" {
			continue
		}
		stranger := *other
		stranger.check, stranger.expects = e.check, slices.Clone(e.expects)
		o, err := stranger.Play(ctx, only{other.given})
		if err != nil {
			return err
		}
		if o.Passed() {
			wrong("its check passes on the start of %s", other.Name)
		}
	}
	return nil
}

// flat returns a text with each run of blanks as one.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
