package trace

// StandIn says that the simulation runs a provisioner or CSI driver of its own under the name of one that is not there.
type StandIn struct {
	// Name is the name in classes and volumes.
	Name string
	// As says what runs under that name and how it differs, as the rest of a sentence.
	As string
}

// Topic implements Record.
func (StandIn) Topic() string { return "gap" }

func (s StandIn) String() string { return "stands in for " + s.Name + ": " + s.As }
