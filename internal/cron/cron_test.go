package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/cron"
)

func TestASchedule(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 30, 0, time.UTC)
	for text, next := range map[string]string{
		"*/5 * * * *":                     "2026-03-02T12:05:00Z",
		"@hourly":                         "2026-03-02T13:00:00Z",
		"@every 90s":                      "2026-03-02T12:02:00Z",
		"TZ=Asia/Shanghai 30 20 * * *":    "2026-03-02T20:30:00+08:00",
		"CRON_TZ=Asia/Shanghai @midnight": "2026-03-03T00:00:00+08:00",
	} {
		schedule, err := cron.Parse(text)
		require.NoError(t, err, text)
		due, err := time.Parse(time.RFC3339, next)
		require.NoError(t, err)
		require.True(t, schedule.Next(noon).Equal(due), "%s: %s", text, schedule.Next(noon))
	}
	for text, why := range map[string]string{
		"":                     "empty spec string",
		"TZ=UTC":               "invalid schedule format: runtime error: slice bounds out of range [:-1]",
		"TZ=Nowhere * * * * *": "provided bad location Nowhere: unknown time zone Nowhere",
		"* * * *":              "expected exactly 5 fields, found 4: [* * * *]",
		"61 * * * *":           "end of range (61) above maximum (59): 61",
		"@fortnightly":         "unrecognized descriptor: @fortnightly",
	} {
		_, err := cron.Parse(text)
		require.EqualError(t, err, why, text)
	}
}
