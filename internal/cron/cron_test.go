package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/cron"
)

// The times of the library's own tests (robfig/cron v3.0.1 spec_test.go TestNext), without seconds, and some more.
func TestNextIsTheFirstTimeAfterTheGivenOne(t *testing.T) {
	const layout = "2006-01-02 15:04:05 -0700"
	for _, test := range []struct{ after, schedule, want string }{
		{"2012-07-09 14:45:00 +0000", "0/15 * * * *", "2012-07-09 15:00:00 +0000"},
		{"2012-07-09 14:59:59 +0000", "0/15 * * * *", "2012-07-09 15:00:00 +0000"},
		{"2012-07-09 15:45:00 +0000", "20-35/15 * * * *", "2012-07-09 16:20:00 +0000"},
		{"2012-07-09 23:46:00 +0000", "*/15 * * * *", "2012-07-10 00:00:00 +0000"},
		{"2012-07-31 23:59:45 +0000", "0 0 * * *", "2012-08-01 00:00:00 +0000"},
		{"2012-07-09 23:35:51 +0000", "20-35/15 10-12 * * *", "2012-07-10 10:20:00 +0000"},
		{"2012-07-09 00:00:00 +0000", "0 0 1 Feb Mon", "2013-02-01 00:00:00 +0000"},
		{"2012-07-09 00:00:00 +0000", "30 8 * * Mon", "2012-07-09 08:30:00 +0000"},
		{"2012-12-31 23:59:45 +0000", "@yearly", "2013-01-01 00:00:00 +0000"},
		{"2012-07-09 00:00:00 +0000", "0 0 29 Feb *", "2016-02-29 00:00:00 +0000"},
		{"2012-03-11 00:00:00 -0500", "TZ=America/New_York 30 2 11 Mar ?", "2013-03-11 02:30:00 -0400"},
		{"2012-11-04 00:00:00 -0400", "TZ=America/New_York 0 1 * * *", "2012-11-04 01:00:00 -0400"},
		{"2012-07-09 14:45:00 +0000", "TZ=Asia/Shanghai 0 6 * * *", "2012-07-09 22:00:00 +0000"},
		{"2012-07-09 14:45:10 +0000", "@every 1m30s", "2012-07-09 14:46:40 +0000"},
	} {
		after, err := time.Parse(layout, test.after)
		require.NoError(t, err)
		s, err := cron.Parse(test.schedule)
		require.NoError(t, err)
		want, err := time.Parse(layout, test.want)
		require.NoError(t, err)
		require.True(t, want.Equal(s.Next(after)), "%s after %s: %s", test.schedule, test.after, s.Next(after))
	}
	never, err := cron.Parse("0 0 31 Feb *")
	require.NoError(t, err)
	require.True(t, never.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero())
	for _, bad := range []string{"", "* * * *", "60 * * * *", "5-2 * * * *", "*/0 * * * *", "x * * * *", "@every x", "TZ=No/Where * * * * *"} {
		_, err := cron.Parse(bad)
		require.Error(t, err, bad)
	}
}
