package workloads

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is a part of a list of indexes such as "1,3-5".
type interval struct{ first, last int32 }

// Upstream: batch/validation parseIndexInterval, v1.37.2.
func parseInterval(text string, completions int32) (i interval, err error) {
	limits := strings.Split(text, "-")
	if len(limits) > 2 {
		return i, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var numbers []int32
	for _, limit := range limits {
		n, err := strconv.Atoi(limit)
		if err != nil {
			return i, fmt.Errorf("cannot convert string to integer for index: %q", limit)
		}
		if n >= int(completions) {
			return i, fmt.Errorf("too large index: %q", limit)
		}
		numbers = append(numbers, int32(n))
	}
	i = interval{numbers[0], numbers[len(numbers)-1]}
	if len(numbers) == 2 && i.first >= i.last {
		return i, fmt.Errorf("non-increasing order, previous: %d, current: %d", i.first, i.last)
	}
	return i, nil
}

// countIndexes returns how many indexes a list has, or what is wrong with it.
// Upstream: batch/validation validateIndexesFormat, v1.37.2.
func countIndexes(text string, completions int32) (total int32, err error) {
	if text == "" {
		return 0, nil
	}
	var before *interval
	for part := range strings.SplitSeq(text, ",") {
		i, err := parseInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if before != nil && before.last >= i.first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", before.last, i.first)
		}
		total += i.last - i.first + 1
		before = &i
	}
	return total, nil
}

// overlap returns the first index that is in both lists, as far as they can be read.
// Upstream: batch/validation validateFailedIndexesNotOverlapCompleted, v1.37.2.
func overlap(completed, failed string, completions int32) (at int32, both bool) {
	a, b := intervals(completed, completions), intervals(failed, completions)
	for len(a) > 0 && len(b) > 0 {
		if a[0].first <= b[0].last && b[0].first <= a[0].last {
			return max(a[0].first, b[0].first), true
		}
		if a[0].first <= b[0].first {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return 0, false
}

// intervals returns the parts of a list that can be read.
func intervals(text string, completions int32) (list []interval) {
	for part := range strings.SplitSeq(text, ",") {
		if i, err := parseInterval(part, completions); err == nil {
			list = append(list, i)
		}
	}
	return list
}
