package kubelet

import "github.com/storagesim/storagesim/volume"

// Rules can be replaced by wrong ones that were once in use, to show what they did. The
// zero value has the right rules.
type Rules struct {
	// Uncertain says whether a volume may be mounted although its plugin has failed with
	// that error, so that it is taken away with its pod; default: volume.IsUncertain.
	// Upstream's versions before 1.17 took every failure for final
	// (kubernetes/kubernetes 82492).
	Uncertain func(failure error) bool
}

func (r Rules) uncertain(failure error) bool {
	if r.Uncertain != nil {
		return r.Uncertain(failure)
	}
	return volume.IsUncertain(failure)
}
