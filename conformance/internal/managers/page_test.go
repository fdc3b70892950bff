package managers

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestThePageSaysWhatWasCompared keeps docs/managers.md in step with the scenarios, the recordings and the differences.
func TestThePageSaysWhatWasCompared(t *testing.T) {
	text, err := os.ReadFile("../../../docs/managers.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ")
	steps, objects, events := 0, 0, 0
	for _, s := range Scenarios() {
		assert.Contains(t, page, "`"+s.Name+"`")
		seen := recorded(t, s.Name)
		steps, events = steps+len(seen.Steps), events+len(seen.Events)
		for _, step := range seen.Steps {
			objects += len(step.Objects)
		}
	}
	assert.Contains(t, page, fmt.Sprintf("%d scenarios have %d steps, with %d objects at their ends, and %d events. All agree, except where chance decides.",
		len(Scenarios()), steps, objects, events))
	for _, c := range Chances() {
		assert.Contains(t, page, c.Why)
	}
}
