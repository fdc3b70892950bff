package provisioner

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// declined is the reason of shouldProvision for a claim that the Qualifier refuses.
const declined = "the provisioner declines it"

// AnswersTo reports whether classes call the provisioner so.
func (c Config) AnswersTo(name string) bool {
	return c.Name == name || slices.Contains(c.AdditionalNames, name)
}

// ActorName returns the name of the actor that runs the provisioner.
func (c Config) ActorName() string { return cmp.Or(c.Actor, c.Name) }

// Explain says why a provisioner of this configuration makes no volume for a claim that is
// for it, as far as it decided so itself when it looked at the claim last; otherwise "". It
// calls nothing of the Provisioner's.
func Explain(cfg Config, claim *v1.PersistentVolumeClaim, log *trace.Log) string {
	about := trace.RefOf("PersistentVolumeClaim", claim)
	for _, entry := range slices.Backward(log.Entries()) {
		if entry.Actor != cfg.ActorName() {
			continue
		}
		switch r := entry.Record.(type) {
		case trace.Call:
			if r.About == about {
				return ""
			}
		case trace.Decision:
			if r.About != about {
				continue
			}
			if r.Text == skipped+declined {
				return declined + " (Qualifier.ShouldProvision)"
			}
			return ""
		}
	}
	return ""
}
