// Package cron reads the schedules of CronJobs, for the API server, which refuses a wrong one, and for their controller.
package cron

import (
	"fmt"
	"strings"
	_ "time/tzdata" // as kube-controller-manager has it: zones do not depend on the machine

	"github.com/robfig/cron/v3"
)

// Schedule says when something is due.
type Schedule = cron.Schedule

// Parse reads a schedule of five fields or one with a name, such as @daily. It may begin with TZ=ZONE or CRON_TZ=ZONE; otherwise it is one of
// UTC, where upstream takes the zone of the machine. At a zone that no schedule follows the library panics, and the error says how.
//
// Upstream: pkg/util/parsers ParseCronScheduleWithPanicRecovery, v1.37.2.
func Parse(text string) (schedule Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			schedule, err = nil, fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	if text != "" && !strings.HasPrefix(text, "TZ=") && !strings.HasPrefix(text, "CRON_TZ=") {
		text = "TZ=UTC " + text
	}
	return cron.ParseStandard(text)
}
