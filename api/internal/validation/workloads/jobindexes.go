package workloads

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Limits of a Job with indexes whose failures count for each index by itself, and of its success policy.
// Upstream: batch/validation maxFailedIndexesForIndexedJob and those beside it, v1.37.2.
const (
	maxFailedIndexes        = 100_000
	manyCompletions         = 100_000
	manyParallelism         = 10_000
	manyFailedIndexes       = 10_000
	maxSuccessRules         = 20
	maxSuccessIndexesLength = 64 * 1024
)

// checkFailedIndexes validates the limits of a Job with indexes whose failures count for each index by itself.
// Upstream: batch/validation validateJobSpec, v1.37.2.
func checkFailedIndexes(p *validation.Problems, spec *batchv1.JobSpec, path *field.Path) {
	at, most := path.Child("maxFailedIndexes"), spec.MaxFailedIndexes
	if most != nil && spec.Completions != nil && *most > *spec.Completions {
		p.Invalid(at, *most, "must be less than or equal to completions")
	}
	if most != nil && *most > maxFailedIndexes {
		p.Invalid(at, *most, fmt.Sprintf("must be less than or equal to %d", maxFailedIndexes))
	}
	if spec.Completions == nil || *spec.Completions <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return
	}
	const when = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	if most == nil {
		p.Required(at, fmt.Sprintf("must be specified when completions is above %d", manyCompletions))
	}
	if n := spec.Parallelism; n != nil && *n > manyParallelism {
		p.Invalid(path.Child("parallelism"), *n, fmt.Sprintf(when, manyParallelism, manyCompletions))
	}
	if most != nil && *most > manyFailedIndexes {
		p.Invalid(at, *most, fmt.Sprintf(when, manyFailedIndexes, manyCompletions))
	}
}

// checkSuccessPolicy validates the rules by which a Job with indexes is complete.
// Upstream: batch/validation validateSuccessPolicy, v1.37.2.
func checkSuccessPolicy(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	policy := spec.SuccessPolicy
	switch {
	case policy == nil:
		return
	case spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion:
		p.Invalid(at, *policy, "requires indexed completion mode")
		return
	case spec.Completions == nil:
		return // refused by itself
	}
	at = at.Child("rules")
	switch n := len(policy.Rules); {
	case n == 0:
		p.Required(at, "at least one rules must be specified when the successPolicy is specified")
	case n > maxSuccessRules:
		p.Add(field.TooMany(at, n, maxSuccessRules))
	}
	for i := range policy.Rules {
		checkSuccessRule(p, *spec.Completions, &policy.Rules[i], at.Index(i))
	}
}

// checkSuccessRule validates one rule.
// Upstream: batch/validation validateSuccessPolicyRule, v1.37.2.
func checkSuccessRule(p *validation.Problems, completions int32, rule *batchv1.SuccessPolicyRule, at *field.Path) {
	count, indexes := rule.SucceededCount, rule.SucceededIndexes
	if count == nil && indexes == nil {
		p.Required(at, "at least one of succeededCount or succeededIndexes must be specified")
	}
	total := int32(0)
	if indexes != nil {
		at := at.Child("succeededIndexes")
		if len(*indexes) > maxSuccessIndexesLength {
			p.Add(field.TooLong(at, "", maxSuccessIndexesLength))
		}
		var err error
		if total, err = checkIndexes(*indexes, completions); err != nil {
			p.Invalid(at, *indexes, "error parsing succeededIndexes: "+err.Error())
		}
	}
	if count == nil {
		return
	}
	p.NotNegative(int64(*count), at, "succeededCount")
	at = at.Child("succeededCount")
	if *count > completions {
		p.Invalid(at, *count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))
	}
	if indexes != nil && *count > total {
		p.Invalid(at, *count, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

// checkIndexes returns how many indexes a list such as "0-2,4" has. They must rise, and be smaller than the completions.
// Upstream: batch/validation validateIndexesFormat, v1.37.2.
func checkIndexes(list string, completions int32) (total int32, err error) {
	if list == "" {
		return 0, nil
	}
	before := int32(-1)
	for i, part := range strings.Split(list, ",") {
		first, last, err := checkInterval(part, completions)
		if err == nil && i > 0 && before >= first {
			err = fmt.Errorf("non-increasing order, previous: %d, current: %d", before, first)
		}
		if err != nil {
			return 0, err
		}
		total, before = total+last-first+1, last
	}
	return total, nil
}

// checkInterval returns the first and the last index of a part of a list.
// Upstream: batch/validation parseIndexInterval, v1.37.2.
func checkInterval(part string, completions int32) (first, last int32, err error) {
	ends := strings.Split(part, "-")
	if len(ends) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", part)
	}
	first, err = checkIndex(ends[0], completions)
	if err != nil || len(ends) == 1 {
		return first, first, err
	}
	last, err = checkIndex(ends[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return first, last, err
}

func checkIndex(text string, completions int32) (int32, error) {
	switch n, err := strconv.Atoi(text); {
	case err != nil:
		return 0, errors.New("cannot convert string to integer for index: " + strconv.Quote(text))
	case n >= int(completions):
		return 0, errors.New("too large index: " + strconv.Quote(text))
	default:
		return int32(n), nil
	}
}
