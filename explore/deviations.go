package explore

import (
	"sync"

	"github.com/storagesim/storagesim/trace"
)

// deviations collects the situations in which runs deviate from upstream. Runs are played at the same time.
type deviations struct {
	mu sync.Mutex
	// first holds, for each situation, the number of the first run and its record.
	first map[trace.Situation]firstRun
}

// firstRun is the first run in which a situation arose.
type firstRun struct {
	number int
	record trace.Deviates
}

// add notes the situations of a run.
func (d *deviations) add(number int, list []trace.Deviates) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, record := range list {
		if known, ok := d.first[record.Situation]; !ok || number < known.number {
			if d.first == nil {
				d.first = map[trace.Situation]firstRun{}
			}
			d.first[record.Situation] = firstRun{number, record}
		}
	}
}

// until returns the situations of the runs up to a number, in the order of the register.
func (d *deviations) until(last int) (list []trace.Deviates) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, entry := range trace.Deviations() {
		if found, ok := d.first[entry.Situation]; ok && found.number <= last {
			list = append(list, found.record)
		}
	}
	return list
}
