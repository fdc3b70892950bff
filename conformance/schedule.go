package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/storagesim/storagesim/engine"
)

// Schedule is one way the simulation can go. The zero value is in order.
type Schedule struct {
	// Phase is the part of the controllers' resync period that had passed when the
	// recording began.
	Phase time.Duration
	// Kubelets are the parts of the kubelets' 10 s, in seconds, that had passed since they last looked at their Nodes' status: the last digit
	// is the first node's, the one before it the second's.
	Kubelets int `json:",omitempty"`
	// Turns lists the steps at which the way to choose changes, in order.
	Turns []Turn
}

// Turn is a change of the way to choose among what can come next.
type Turn struct {
	// Step is the first step, from 1, that goes this way, and After the number of controllers' writes in it before it does.
	Step  int
	After int `json:",omitempty"`
	// Seed chooses the interleaving from there on; 0 is in order.
	Seed uint64
	// Along prefers the actor that made the next request in the recording.
	Along bool `json:",omitempty"`
}

func (s Schedule) String() string {
	var parts []string
	if s.Phase != 0 {
		parts = append(parts, fmt.Sprintf("resync phase %s", s.Phase))
	}
	if s.Kubelets != 0 {
		parts = append(parts, fmt.Sprintf("kubelets' phases %02d", s.Kubelets))
	}
	for _, t := range s.Turns {
		way := "in order"
		if t.Seed != 0 {
			way = fmt.Sprintf("seed %d", t.Seed)
		}
		if t.Along {
			way += " along the recording"
		}
		from := fmt.Sprintf("step %d", t.Step)
		if t.After > 0 {
			from += fmt.Sprintf(" after write %d", t.After)
		}
		parts = append(parts, way+" from "+from+" on")
	}
	if len(parts) == 0 {
		return "in order"
	}
	return strings.Join(parts, ", ")
}

// inOrder reports whether this is the schedule that a reader expects.
func (s Schedule) inOrder() bool { return s.Phase == 0 && s.Kubelets == 0 && len(s.Turns) == 0 }

// before reports whether a turn comes before so many writes of a step.
func (t Turn) before(step, after int) bool { return t.Step < step || t.Step == step && t.After < after }

// then returns s with another way to choose from that turn on.
func (s Schedule) then(turn Turn) Schedule {
	turns := make([]Turn, 0, len(s.Turns)+1)
	for _, t := range s.Turns {
		if t.before(turn.Step, turn.After) {
			turns = append(turns, t)
		}
	}
	s.Turns = append(turns, turn)
	return s
}

// only returns s with another way to choose in one step.
func (s Schedule) only(step int, seed uint64) Schedule {
	before := Turn{}
	var turns, after []Turn
	for _, t := range s.Turns {
		switch {
		case t.Step < step:
			turns, before = append(turns, t), t
		case t.Step == step:
			before = t
		default:
			after = append(after, t)
		}
	}
	turns = append(turns, Turn{Step: step, Seed: seed})
	if len(after) == 0 || after[0].Step > step+1 {
		turns = append(turns, Turn{Step: step + 1, Seed: before.Seed, Along: before.Along})
	}
	s.Turns = append(turns, after...)
	return s
}

// steering is the engine.Policy of a replay: it follows a Schedule's turns.
type steering struct {
	turns []Turn
	rng   *rand.Rand
	// often is the share, in 64ths, of choices other than the next in order.
	often int
	// most bounds the delay of the recorder before its next step, in milliseconds.
	most int
	// soon lets the recorder's next step come before a write that is due just when the step would end: a real one takes a moment.
	soon bool
	// step and writes say where the replay is: the step, and how many writes it has had.
	step, writes int
	// ahead holds the step's requests that are still to come; goes says whether the way to choose goes along with them.
	ahead along
	goes  bool
}

// begin starts a step, in which the recording has these requests.
func (p *steering) begin(step int, ahead []request) {
	p.step, p.writes, p.ahead = step, 0, along{requests: ahead}
	p.turn()
}

// wrote tells of a write in the step.
func (p *steering) wrote() {
	p.writes++
	p.turn()
}

// turn begins to choose in another way if there is a turn here.
func (p *steering) turn() {
	for _, t := range p.turns {
		if t.Step != p.step || t.After != p.writes {
			continue
		}
		p.rng, p.goes, p.soon = nil, t.Along, false
		if t.Seed != 0 {
			p.rng = rand.New(rand.NewPCG(t.Seed, 0x5eed))
			p.often = [...]int{64, 24, 6, 2}[t.Seed%4]
			p.most, p.soon = 500, t.Seed%16 == 1 || t.Seed%16 == 5
			if t.Seed%8 == 7 {
				p.most = 4000 // in some recordings it took notice of writes that they do not have, such as a node's heartbeat
			}
		}
	}
}

// Choose implements engine.Policy.
func (p *steering) Choose(n int) int {
	if p.rng == nil || p.rng.IntN(64) >= p.often {
		return 0
	}
	return p.rng.IntN(n)
}

// Pick implements engine.Picker. Where a schedule goes along with the recording, one in eight choices is as others.
func (p *steering) Pick(n int, of func(i int) engine.Alternative) int {
	if p.rng == nil || !p.goes || p.rng.IntN(8) == 0 {
		return p.Choose(n)
	}
	list, own := p.ahead.prefer(n, of)
	switch {
	case len(list) == 0:
		return p.Choose(n)
	case own && p.rng.IntN(2) == 0:
		return list[p.rng.IntN(len(list))]
	}
	return list[0]
}

// gap returns the number of steps, and then the time, that other actors have between two requests
// of the user. In order both are 0.
func (p *steering) gap() (steps int, wait time.Duration) {
	if p.rng == nil {
		return 0, 0
	}
	switch p.rng.IntN(3) {
	case 0:
		return 0, 0
	case 1:
		return 1 + p.rng.IntN(40), 0
	}
	return 0, time.Duration(1+p.rng.IntN(100)) * time.Millisecond
}

// early returns by how much sooner than the recorder says a step is over. In order it is 0.
func (p *steering) early() time.Duration {
	if p.soon {
		return time.Millisecond
	}
	return 0
}

// late returns the delay of the recorder before its next step. In order there is no delay.
func (p *steering) late() time.Duration {
	if p.rng == nil {
		return 0
	}
	return time.Duration(p.rng.IntN(p.most)) * time.Millisecond
}
