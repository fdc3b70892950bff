// Package seeds runs a test under many seeds, on all processors.
//
// How many is set from outside, because a developer, CI and the hunt for a rare bug
// want different numbers:
//
//	go test                   the usual number, which the test names
//	go test -short            a tenth of it
//	STORAGESIM_SEEDS=10000    that many
//	STORAGESIM_BUDGET=60s     after that time no other seed is begun; the usual
//	                          number is tried however long it takes
//	STORAGESIM_SEED=17        only that one, with its story
//
// A budget bounds how many seeds are tried, never how long one may take, so a slow
// machine tries fewer and fails no test. Seeds are begun in order, so the same ones
// come first on every machine. With -v a test says how many it tried.
package seeds

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Number is how many seeds a test tries which usually tries that many: the number in
// STORAGESIM_SEEDS, a tenth of the usual (at least 1) with -short, or the usual.
func Number(t testing.TB, usual int) int {
	t.Helper()
	if n, ok := number(t, "STORAGESIM_SEEDS"); ok {
		return int(n)
	}
	return least(usual)
}

func least(usual int) int {
	if testing.Short() {
		return max(1, usual/10)
	}
	return usual
}

// Each plays the seeds from 1 on, and reports each that fails. The story that play
// returns is logged if the seed is the only one.
func Each(t *testing.T, usual int, play func(seed uint64) (story string, err error)) {
	t.Helper()
	_, alone := number(t, "STORAGESIM_SEED")
	Run(t, "seeds", usual, func(t *testing.T, seed uint64) {
		story, err := play(seed)
		if alone {
			t.Log(story)
		}
		if err != nil {
			t.Errorf("seed %d (STORAGESIM_SEED=%d tells its story): %v", seed, seed, err)
		}
	})
}

// Run calls try with the seeds from 1 on. It returns how many it tried, and logs
// that under the name of what is counted: "tried 7,300 of 10,000 seeds in 60s".
// A try that ends its test (t.FailNow) ends one of the workers; the others go on.
func Run(t *testing.T, what string, usual int, try func(t *testing.T, seed uint64)) (tried int) {
	t.Helper()
	if only, ok := number(t, "STORAGESIM_SEED"); ok {
		try(t, only)
		return 1
	}
	q := newQueue(t, usual)
	t.Run("all", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprintf("worker %d", worker), func(t *testing.T) {
				t.Parallel()
				for seed, ok := q.next(); ok; seed, ok = q.next() {
					try(t, seed)
				}
			})
		}
	})
	t.Logf("tried %s of %s %s in %s", grouped(q.begun), grouped(q.most), what, time.Since(q.start).Round(time.Second))
	return q.begun
}

// A queue hands out the seeds.
type queue struct {
	least, most int
	budget      time.Duration // 0 is without end

	mu    sync.Mutex
	begun int
	start time.Time // of the first seed: workers wait for those of other tests
}

func newQueue(t testing.TB, usual int) *queue {
	t.Helper()
	q := &queue{most: Number(t, usual)}
	q.least = min(least(usual), q.most)
	if text := os.Getenv("STORAGESIM_BUDGET"); text != "" {
		var err error
		if q.budget, err = time.ParseDuration(text); err != nil || q.budget <= 0 {
			t.Fatalf("STORAGESIM_BUDGET: %q is not a duration above 0, such as 60s", text)
		}
	}
	return q
}

// next is the seed to try next, if there is one.
func (q *queue) next() (seed uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.begun == 0 {
		q.start = time.Now()
	}
	over := q.budget > 0 && time.Since(q.start) >= q.budget
	if q.begun == q.most || q.begun >= q.least && over {
		return 0, false
	}
	q.begun++
	return uint64(q.begun), true
}

func number(t testing.TB, variable string) (n uint64, ok bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q is not a whole number from 1 to 2147483647", variable, text)
	}
	return n, true
}

// grouped writes a number with a comma before each three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
