package managers

import (
	"regexp"
	"slices"
)

// Chance is a difference that there may be, also between two runs of upstream's programs.
type Chance struct {
	// Scenario and Line match its scenario, and the line of Compare.
	Scenario, Line *regexp.Regexp
	// Why says what it depends on.
	Why string
}

func chance(scenario, line, why string) Chance {
	return Chance{Scenario: regexp.MustCompile("^(" + scenario + ")$"), Line: regexp.MustCompile(line), Why: why}
}

// Chances returns the differences that Compare may find between two runs of upstream itself.
func Chances() []Chance {
	return []Chance{
		chance(".*", `^events: only (upstream|ours): Service \S+: .* endpoint-slice-controller:`,
			"there is no controller of EndpointSlices here, and upstream's sometimes meets a conflict"),
		chance(".*", `^events: only (upstream|ours): \S+ \S+: Warning FailedScheduling, default-scheduler: .*(not found|waiting for ephemeral volume `+
			`controller|unbound immediate)`,
			"whether the scheduler's cache knows the claim, or that it is bound, when the pod comes"),
		chance(".*", `^events: only (upstream|ours): PersistentVolumeClaim \S+: Normal WaitFor(FirstConsumer|PodScheduled), `,
			"what the volume controller finds when it looks: a claim without a pod, with one that waits, or one whose node is chosen"),
		chance("budget-.*", `^events: only upstream: PodDisruptionBudget pdb: Warning CalculateExpectedPodCountFailed,`,
			"whether a pod is still there when its controller is gone from the cache"),
		chance("scheduling-.*", `^events: only (upstream|ours): .* FailedScheduling, .* had untolerated taint`,
			"whether the scheduler looks between the end of a cordon and that of its taint"),
		chance("taint-evicts", `TaintManagerEviction, taint-eviction-controller: Cancelling deletion of Pod`,
			"whether the controller hears that the pod is gone before its own request to delete it returns"),
	}
}

// IsChance reports whether a line of Compare is one of them.
func IsChance(scenario, line string) bool {
	return slices.ContainsFunc(Chances(), func(c Chance) bool { return c.Scenario.MatchString(scenario) && c.Line.MatchString(line) })
}
