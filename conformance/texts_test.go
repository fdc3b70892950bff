package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextsAreComparedWithoutWhatIsChance(t *testing.T) {
	for message, want := range map[string]string{
		"a plain text": "a plain text",
		"Successfully pulled image \"busybox\" in 1.5s (1.5s including waiting)": "Successfully pulled image \"busybox\" in <t> (<t> including waiting)",
		"Volume is already used by pod(s) b, a":                                  "Volume is already used by pod(s) a, b",
		"waiting for pods p13,p12 to be scheduled":                               "waiting for pods p12, p13 to be scheduled",
		`"default/data" is out of sync (stored: 153, assume: 149)`:               `"default/data" is out of sync (stored: <v>, assume: <v>)`,
		"the first line\nthe second":                                             "the first line",
		`spec: Invalid value: {"a":{"b":null}}: it cannot be`:                    "spec: Invalid value: {}: it cannot be",
		`spec: Invalid value: {"a":`:                                             "spec: Invalid value: {}",
		`patch: Invalid value: "{\"a\":\"}\"}": no`:                              "patch: Invalid value: {}: no",
	} {
		assert.Equal(t, want, comparedText(message))
	}
	assert.Equal(t, problems(`Pod "p" is invalid: [b: Required value, a: Invalid value: 1: no, or yes]`),
		problems(`Pod "p" is invalid: [a: Invalid value: 1: no, or yes, b: Required value]`))
	assert.NotEqual(t, problems(`Pod "p" is invalid: [b: Required value, a: Required value]`), problems(`Pod "p" is invalid: [b: Required value]`))
	assert.Equal(t, "no list", problems("no list"))
}

func TestATimeThatIsTooLongIsRefused(t *testing.T) {
	for _, step := range []string{`{"wait": 10000000}`, `{"wait": 1, "most": 1e7}`, `{"wait": 1, "quiet": 1e7}`} {
		_, err := load(t, `{"steps": [{"step": `+step+`}]}`)
		require.ErrorContains(t, err, "step 1: ")
		require.ErrorContains(t, err, "1e+07 s is too long; at most 86400 s can pass in a step")
	}
}

// However many schedules are tried, a recording of something that did not happen does not agree.
func TestMutatedRecordingsDoNotAgree(t *testing.T) {
	paths, err := list("testdata")
	require.NoError(t, err)
	number := 6
	if os.Getenv("STORAGESIM_SEEDS") != "" { // in CI
		number = 24
	}
	rng := rand.New(rand.NewPCG(40, 3))
	for mutated := 0; mutated < number; {
		path := paths[rng.IntN(len(paths))]
		name := filepath.Base(path)
		rec, err := Load(path)
		require.NoError(t, err)
		result, err := Check(rec, Options{Seeds: 8})
		require.NoError(t, err)
		if len(result.Differences) > 0 {
			continue
		}
		what := mutate(rec, rng)
		if what == "" {
			continue
		}
		mutated++
		result, err = Check(rec, Options{Seeds: 16})
		require.NoError(t, err)
		assert.NotEmpty(t, result.Differences, "%s, %s", name, what)
	}
	t.Logf("tried %d recordings", number)
}

// mutate changes something that must agree, and says what; "" if it finds nothing.
func mutate(rec *Recording, rng *rand.Rand) string {
	i := rng.IntN(len(rec.Steps))
	writes := rec.Steps[i].Writes
	if len(writes) == 0 {
		return ""
	}
	e := &writes[rng.IntN(len(writes))]
	at := fmt.Sprintf("step %d, %s %s %s%s", i+1, e.Actor, e.Verb, e.Name, e.Event)
	created, whole := e.Object.(map[string]any)
	resource, _, _ := strings.Cut(e.Resource, "/")
	switch {
	case e.Event == "" && !compared(resource):
		return ""
	case e.Event != "":
		e.Message += " and more"
		return at + ": another message"
	case e.Actor == "user" && e.Code >= 400:
		e.Reason = "Wrong"
		return at + ": another reason"
	case e.Actor == "user" || e.Code >= 400:
		return ""
	case e.Node != "":
		e.Node = "another"
		return at + ": another node"
	case whole:
		created["extra"] = json.Number("1")
		return at + ": another field"
	}
	for _, pointer := range sortedKeys(e.Changed) {
		if e.Verb != "delete" {
			e.Changed[pointer] = "changed"
			return at + ": another value"
		}
	}
	return ""
}
