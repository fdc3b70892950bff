package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unsupportedError is the error of syntax that a real shell reads and this one does not.
type unsupportedError struct {
	line uint
	what string
}

func (e unsupportedError) Error() string {
	return fmt.Sprintf("line %d: %s is not supported", e.line, e.what)
}

// maxShown is the number of bytes that a refusal shows of what it refuses.
const maxShown = 60

// textOf returns the source of a node, on one line.
func textOf(node syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, node) != nil {
		return fmt.Sprintf("%T", node)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + " ..."
	}
	return text
}

// refuse returns an error if a script has syntax that is not supported, before anything of
// it is run.
func refuse(file *syntax.File) (err error) {
	depth := 0
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			depth--
			return false
		}
		switch what := unsupported(node); {
		case err != nil:
			return false
		case what != "":
			err = unsupportedError{node.Pos().Line(), what}
		case depth == maxNested:
			err = fmt.Errorf("line %d: more than %d commands and words in each other", node.Pos().Line(), maxNested)
		}
		if err == nil {
			depth++
		}
		return err == nil
	})
	return err
}

// unsupported names the syntax that this shell does not support; "" for all other.
func unsupported(node syntax.Node) string {
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Coprocess {
			return "a coprocess (|&)"
		}
	case *syntax.FuncDecl:
		if n.Name == nil {
			return "a function without a name"
		}
	case *syntax.CoprocClause:
		return "a coprocess"
	case *syntax.ProcSubst:
		return "process substitution"
	case *syntax.ArrayExpr:
		return "an array"
	case *syntax.ExtGlob:
		return "an extended pattern"
	case *syntax.ForClause:
		if n.Select {
			return "select"
		}
	case *syntax.Assign:
		if n.Index != nil {
			return "an array"
		}
	case *syntax.ParamExp:
		return unsupportedParameter(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return "|&"
		}
	case *syntax.Redirect:
		return unsupportedRedirect(n)
	case *syntax.BinaryTest:
		return unsupportedTest(n.Op)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsOptSet || n.Op == syntax.TsRefVar || n.Op == syntax.TsModif {
			return "[[ " + n.Op.String() + " ]]"
		}
	case *syntax.DeclClause:
		if n.Variant.Value == "nameref" {
			return "nameref"
		}
	}
	return ""
}

func unsupportedParameter(n *syntax.ParamExp) string {
	switch {
	case n.Excl || n.Names != 0:
		return "${!name}"
	case n.Index != nil:
		return "an array"
	case n.Param == nil || n.Width || n.IsSet || n.Flags != nil || n.NestedParam != nil || len(n.Modifiers) > 0:
		return textOf(n) + ", which has more than a name and one operation,"
	case n.Exp != nil:
		switch n.Exp.Op {
		case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll, syntax.OtherParamOps,
			syntax.MatchEmpty, syntax.ArrayExclude, syntax.ArrayIntersect:
			return "${name" + n.Exp.Op.String() + "}"
		}
	}
	return ""
}

func unsupportedRedirect(n *syntax.Redirect) string {
	switch n.Op {
	case syntax.RdrInOut, syntax.AppClob, syntax.RdrAllClob, syntax.AppAllClob:
		return "the redirection " + n.Op.String()
	}
	if n.N != nil && (len(n.N.Value) != 1 || n.N.Value[0] < '0' || n.N.Value[0] > '9') {
		return "a redirection of descriptor " + n.N.Value
	}
	return ""
}

func unsupportedTest(op syntax.BinTestOperator) string {
	switch op {
	case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		return "[[ " + op.String() + " ]]"
	}
	return ""
}
