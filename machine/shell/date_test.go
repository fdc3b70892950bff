package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDateFormatsTheVirtualTimeAsCoreutilsDoes(t *testing.T) {
	for format, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S": "2026-03-01 00:05:09",
		"%F %T":             "2026-03-01 00:05:09",
		"%-H:%-M:%-S":       "0:5:9", // the hour of midnight is a digit, too
		"%a %e %b %j %u":    "Sun  1 Mar 060 7",
		"%s.%N%z %Z":        "1772323509.000000042+0000 UTC",
		"100%% %":           "100% %",
	} {
		b := newBox(t)
		b.host.now = time.Date(2026, 3, 1, 0, 5, 9, 42, time.UTC)
		require.Equal(t, want+"\n", b.run("date", "+"+format).Log(), format)
	}
	p := newBox(t).run("date", "+%-q")
	require.Equal(t, "date: format %-q is not supported\n", p.Log())
	require.EqualValues(t, 1, p.ExitCode())
}
