package shell

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// expression is a compiled regular expression.
type expression struct {
	re *regexp.Regexp
	// next finds re after the first character of a text, which it sees as what stands
	// before: ^ does not match there.
	next *regexp.Regexp
	// cost is the work that one character of the text takes.
	cost int
}

// compileExpression compiles an extended expression of POSIX.
func compileExpression(text string) (*expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression of more than %d bytes", maxExpression)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("'%s' is not a valid expression: %w", text, err)
	}
	cost := instructions(tree)
	if cost > maxExpression {
		return nil, errors.New("the expression is too large")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("'%s' is not a valid expression: %w", text, err)
	}
	next, err := regexp.Compile("^(?s:.)(?s:.*?)(" + tree.String() + ")")
	return &expression{re: re, next: next, cost: cost}, err
}

// instructions estimates how many instructions an expression compiles to.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, 2*maxExpression)
}

// find returns where the first match at or after from begins and ends; nil if there is
// none. It charges the program for every character that it reads, so that no expression
// holds up the simulation.
func (x *expression) find(p *Program, text string, from int) []int {
	if from == 0 {
		return x.re.FindReaderIndex(&chargedReader{program: p, text: text, cost: x.cost})
	}
	_, size := utf8.DecodeLastRuneInString(text[:from])
	start := from - size
	found := x.next.FindReaderSubmatchIndex(&chargedReader{program: p, text: text[start:], cost: x.cost})
	if found == nil {
		return nil
	}
	return []int{start + found[2], start + found[3]}
}

// chargedReader reads a text and charges the program for each character.
type chargedReader struct {
	program *Program
	text    string
	cost    int
}

func (r *chargedReader) ReadRune() (c rune, size int, err error) {
	if r.text == "" {
		return 0, 0, io.EOF
	}
	r.program.work(r.cost)
	c, size = utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
