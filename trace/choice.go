package trace

// MaxCandidates is the number of candidates that a Choice tells apart.
const MaxCandidates = 50

// Choice has the values of a decision: what there was to choose from, and what was wrong with what was not chosen.
type Choice struct {
	// For names the claim that a volume is chosen for, "default/data", in Volumes of another choice.
	For string `json:"for,omitempty"`
	// Rule is a short name of the rule that decided, "the smallest that fits".
	Rule string `json:"rule,omitempty"`
	// Function is the upstream function that decides so, and File its file in the repository kubernetes/kubernetes.
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	// Chosen is the name of the node or volume that was taken, "" for none.
	Chosen string `json:"chosen,omitempty"`
	// Candidates are in order of name, at most MaxCandidates, the chosen one always among them. More is the number of the others.
	Candidates []Candidate `json:"candidates,omitempty"`
	More       int         `json:"more,omitempty"`
	// Volumes are the choices of a volume for each claim of a pod, on the node that was chosen.
	Volumes []Choice `json:"volumes,omitempty"`
}

// Candidate is a node or a volume that was looked at.
type Candidate struct {
	Name string `json:"name"`
	// OK is set if it could be taken. Otherwise Filter names the plugin or filter that passed it over, "NodeResourcesFit" or "TooSmall".
	OK     bool   `json:"ok"`
	Filter string `json:"filter,omitempty"`
	// Reason says in words why it was passed over, or why it was taken.
	Reason string `json:"reason,omitempty"`
	// Scores are the scores by plugin, with their weight, and Score is their sum. Scores is nil if there was nothing to compare.
	Score  int64            `json:"score,omitempty"`
	Scores map[string]int64 `json:"scores,omitempty"`
}

// Cut keeps MaxCandidates of the candidates, with the chosen one, and counts the others.
func (c *Choice) Cut() {
	if len(c.Candidates) <= MaxCandidates {
		return
	}
	kept := c.Candidates[:MaxCandidates:MaxCandidates]
	for _, other := range c.Candidates[MaxCandidates:] {
		if other.Name == c.Chosen {
			kept[MaxCandidates-1] = other
		}
	}
	c.More += len(c.Candidates) - MaxCandidates
	c.Candidates = kept
}

// size returns about how many bytes the choice takes.
func (c *Choice) size() int {
	if c == nil {
		return 0
	}
	bytes := overhead
	for _, candidate := range c.Candidates {
		bytes += overhead + len(candidate.Name) + len(candidate.Reason) + 50*len(candidate.Scores)
	}
	for i := range c.Volumes {
		bytes += c.Volumes[i].size()
	}
	return bytes
}
