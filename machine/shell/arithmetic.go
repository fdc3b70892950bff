package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic returns the value of an expression.
func (s *shell) arithmetic(x syntax.ArithmExpr) (int64, error) {
	switch x := x.(type) {
	case nil:
		return 0, nil
	case *syntax.Word:
		text, err := s.word(x)
		if err != nil {
			return 0, err
		}
		return s.operand(text)
	case *syntax.ParenArithm:
		return s.arithmetic(x.X)
	case *syntax.UnaryArithm:
		return s.unary(x)
	case *syntax.BinaryArithm:
		return s.binaryArithmetic(x)
	}
	return 0, fmt.Errorf("arithmetic expression: %s is not supported; numbers, names, operators and parentheses are", textOf(&syntax.ArithmCmd{X: x}))
}

// operand returns the value of a number, or of a variable that holds a number or an
// expression.
func (s *shell) operand(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	if isName(text) {
		value, set := s.get(text)
		if !set && s.nounset {
			return 0, unset(text)
		}
		if isName(strings.TrimSpace(value)) && !s.bash {
			return 0, fmt.Errorf("Illegal number: %s", value)
		}
		if value == text {
			return 0, nil
		}
		text = strings.TrimSpace(value)
	}
	if n, err := number(text); err == nil || text == "" {
		return n, nil
	}
	defer s.program.enter()()
	s.program.step(1 + len(text)/10)
	if len(text) > maxOperand || isName(text) && !s.bash {
		return 0, fmt.Errorf("Illegal number: %.100s", text)
	}
	x, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Arithmetic(strings.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("arithmetic expression: expecting primary: %q", text)
	}
	if w, ok := x.(*syntax.Word); ok && w.Lit() == text && !isName(text) { // it is text again
		return 0, fmt.Errorf("Illegal number: %.100s", text)
	}
	return s.arithmetic(x)
}

// number reads decimal, octal (010) and hexadecimal (0x10) numbers.
func number(text string) (int64, error) {
	base := 10
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" {
		return 0, strconv.ErrSyntax
	}
	sign := text[:len(text)-len(digits)]
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	n, err := strconv.ParseInt(sign+digits, base, 64)
	if errors.Is(err, strconv.ErrRange) { // the result is the largest number
		err = nil
	}
	return n, err
}

// let evaluates expressions, one after the other. It fails if the last one is 0.
func (s *shell) let(expressions int, value func(i int) (int64, error)) {
	for i := range expressions {
		n, err := value(i)
		if s.status = truth(n != 0); err != nil {
			s.fail(1, "let: %v", err)
			return
		}
	}
}

// letWords carries out "let" of sh, which dash does not have, and BusyBox has.
func (s *shell) letWords(argv []string) {
	if len(argv) == 1 {
		s.fail(1, "let: an expression is missing")
	}
	s.let(len(argv)-1, func(i int) (int64, error) { return s.operand(argv[i+1]) })
}

// unary returns the value of -x, !x, ++x and the like.
func (s *shell) unary(x *syntax.UnaryArithm) (int64, error) {
	n, err := s.arithmetic(x.X)
	if err != nil {
		return 0, err
	}
	switch x.Op {
	case syntax.Not:
		return int64(truth(n != 0)), nil
	case syntax.BitNegation:
		return ^n, nil
	case syntax.Minus:
		return -n, nil
	case syntax.Plus:
		return n, nil
	}
	changed := n + 1
	if x.Op == syntax.Dec {
		changed = n - 1
	}
	if err := s.assignNumber(x.X, changed); err != nil {
		return 0, err
	}
	if x.Post {
		return n, nil
	}
	return changed, nil
}

func (s *shell) assignNumber(x syntax.ArithmExpr, n int64) error {
	w, ok := x.(*syntax.Word)
	if !ok || !isName(w.Lit()) {
		return errors.New("arithmetic expression: only a variable can be assigned to")
	}
	return s.set(w.Lit(), strconv.FormatInt(n, 10))
}

func (s *shell) binaryArithmetic(x *syntax.BinaryArithm) (int64, error) {
	if x.Op == syntax.Assgn {
		n, err := s.arithmetic(x.Y)
		if err == nil {
			err = s.assignNumber(x.X, n)
		}
		return n, err
	}
	left, err := s.arithmetic(x.X)
	if err != nil {
		return 0, err
	}
	switch x.Op {
	case syntax.AndArit:
		if left == 0 {
			return 0, nil
		}
	case syntax.OrArit:
		if left != 0 {
			return 1, nil
		}
	case syntax.TernQuest:
		branches, ok := x.Y.(*syntax.BinaryArithm)
		switch {
		case !ok:
			return 0, errors.New("arithmetic expression: expecting ':'")
		case left != 0:
			return s.arithmetic(branches.X)
		}
		return s.arithmetic(branches.Y)
	}
	right, err := s.arithmetic(x.Y)
	if err != nil {
		return 0, err
	}
	if op, ok := assigning(x.Op); ok {
		n, err := compute(op, left, right)
		if err == nil {
			err = s.assignNumber(x.X, n)
		}
		return n, err
	}
	return compute(x.Op, left, right)
}

// assigning returns the operator in +=, and in others like it.
func assigning(op syntax.BinAritOperator) (syntax.BinAritOperator, bool) {
	plain, ok := map[syntax.BinAritOperator]syntax.BinAritOperator{
		syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul, syntax.QuoAssgn: syntax.Quo,
		syntax.RemAssgn: syntax.Rem, syntax.AndAssgn: syntax.And, syntax.OrAssgn: syntax.Or, syntax.XorAssgn: syntax.Xor,
		syntax.ShlAssgn: syntax.Shl, syntax.ShrAssgn: syntax.Shr,
	}[op]
	return plain, ok
}

func compute(op syntax.BinAritOperator, a, b int64) (int64, error) {
	yes := func(holds bool) (int64, error) { return int64(truth(!holds)), nil }
	switch op {
	case syntax.Add:
		return a + b, nil
	case syntax.Sub:
		return a - b, nil
	case syntax.Mul:
		return a * b, nil
	case syntax.Quo, syntax.Rem:
		return divide(op, a, b)
	case syntax.Eql:
		return yes(a == b)
	case syntax.Neq:
		return yes(a != b)
	case syntax.Lss:
		return yes(a < b)
	case syntax.Gtr:
		return yes(a > b)
	case syntax.Leq:
		return yes(a <= b)
	case syntax.Geq:
		return yes(a >= b)
	case syntax.And:
		return a & b, nil
	case syntax.Or:
		return a | b, nil
	case syntax.Xor:
		return a ^ b, nil
	case syntax.Shl:
		return a << (uint64(b) & 63), nil
	case syntax.Shr:
		return a >> (uint64(b) & 63), nil
	case syntax.AndArit, syntax.OrArit: // the left one has not decided
		return yes(b != 0)
	case syntax.Comma:
		return b, nil
	case syntax.Pow:
		return power(a, b)
	}
	return 0, fmt.Errorf("arithmetic expression: operator %s is not supported", op)
}

func divide(op syntax.BinAritOperator, a, b int64) (int64, error) {
	switch {
	case b == 0:
		return 0, errors.New("arithmetic expression: division by zero")
	case b == -1 && op == syntax.Rem:
		return 0, nil
	case op == syntax.Rem:
		return a % b, nil
	}
	return a / b, nil
}

func power(a, b int64) (int64, error) {
	if b < 0 {
		return 0, errors.New("arithmetic expression: exponent less than 0")
	}
	n := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			n *= a
		}
		a *= a
	}
	return n, nil
}
