package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// unescape replaces \n, \t, \0nnn and the like. ends reports a \c, which ends the output.
func unescape(text string, octal bool) (out string, ends bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		plain := strings.IndexByte("abefnrtv\\\"'", text[i])
		switch {
		case plain >= 0:
			b.WriteByte("\a\b\x1b\f\n\r\t\v\\\"'"[plain])
		case text[i] == 'c':
			return b.String(), true
		case text[i] == '0' || octal && text[i] >= '0' && text[i] <= '7':
			if text[i] == '0' && !octal {
				i++
			}
			n := 0
			end := i
			for ; end < len(text) && end < i+3 && text[end] >= '0' && text[end] <= '7'; end++ {
				n = n*8 + int(text[end]-'0')
			}
			b.WriteByte(byte(n))
			i = end - 1
		case text[i] == 'x' && i+1 < len(text):
			end := min(i+3, len(text))
			n, err := strconv.ParseUint(text[i+1:end], 16, 8)
			if err != nil {
				n, err = strconv.ParseUint(text[i+1:i+2], 16, 8)
				end = i + 2
			}
			if err != nil {
				b.WriteString("\\x")
				continue
			}
			b.WriteByte(byte(n))
			i = end - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(text[i])
		}
	}
	return b.String(), false
}

// printer is one run of printf.
type printer struct {
	p    *Process
	args []string
	out  strings.Builder
	err  error
	ends bool
}

// printf prints its arguments by a format, again and again until all are used.
func printf(p *Process) error {
	argv := p.Argv[1:]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return &ExitError{2, "printf: usage: printf FORMAT [ARG...]"}
	}
	f := &printer{p: p, args: argv[1:]}
	for {
		before := len(f.args)
		f.format(argv[0])
		if f.ends || len(f.args) == 0 || len(f.args) == before {
			break
		}
		p.program.step(1)
	}
	return errors.Join(p.write([]byte(f.out.String())), f.err)
}

func (f *printer) format(format string) {
	for format != "" && !f.ends {
		at := strings.IndexAny(format, "%\\")
		if at < 0 {
			f.print(format)
			return
		}
		f.print(format[:at])
		format = format[at:]
		if format[0] == '\\' {
			size := 2
			for size < len(format) && size < 4 && format[1] >= '0' && format[1] <= '7' && format[size] >= '0' && format[size] <= '7' {
				size++
			}
			if len(format) > 1 && format[1] == 'x' {
				size = 4
			}
			text, ends := unescape(format[:min(size, len(format))], true)
			f.print(text)
			f.ends = ends
			format = format[min(size, len(format)):]
			continue
		}
		size := 1 + len(format[1:]) - len(strings.TrimLeft(format[1:], "-+ #0123456789.*"))
		if size >= len(format) {
			f.print(format)
			return
		}
		f.directive(format[:size], format[size])
		format = format[size+1:]
	}
}

func (f *printer) print(text string) {
	if f.out.Len()+len(text) > maxValue {
		tooMuch("printf: more than %d bytes", maxValue)
	}
	f.out.WriteString(text)
}

// next returns the next argument, "" after the last.
func (f *printer) next() string {
	if len(f.args) == 0 {
		return ""
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg
}

// directive prints one argument: flags like "%-5", and the verb.
func (f *printer) directive(flags string, verb byte) {
	if strings.Count(flags, "*") > 2 {
		f.fail("printf: %s%c: invalid directive", flags, verb)
		return
	}
	for strings.Contains(flags, "*") {
		flags = strings.Replace(flags, "*", strconv.FormatInt(f.number(f.next()), 10), 1)
	}
	for part := range strings.FieldsFuncSeq(flags, func(c rune) bool { return c < '0' || c > '9' }) {
		if n, err := strconv.Atoi(part); err != nil || n > 10_000 {
			f.fail("printf: %s%c: a width of at most 10000 is wanted", flags, verb)
			return
		}
	}
	switch verb {
	case '%':
		f.print("%")
	case 's':
		f.print(fmt.Sprintf(flags+"s", f.next()))
	case 'b':
		text, ends := unescape(f.next(), false)
		f.ends = ends
		f.print(fmt.Sprintf(flags+"s", text))
	case 'q':
		f.print(quoteText(f.next()))
	case 'c':
		arg := f.next()
		f.print(fmt.Sprintf(flags+"s", arg[:min(1, len(arg))]))
	case 'd', 'i':
		f.print(fmt.Sprintf(flags+"d", f.number(f.next())))
	case 'u':
		f.print(fmt.Sprintf(flags+"d", uint64(f.number(f.next()))))
	case 'o', 'x', 'X':
		f.print(fmt.Sprintf(flags+string(verb), uint64(f.number(f.next()))))
	case 'f', 'e', 'g', 'E', 'G':
		arg := f.next()
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil && arg != "" {
			f.fail("printf: %s: expected numeric value", arg)
		}
		f.print(fmt.Sprintf(flags+string(verb), n))
	default:
		f.fail("printf: %s%c: invalid directive", flags, verb)
		f.ends = true
	}
}

func (f *printer) fail(format string, args ...any) {
	f.err = errors.Join(f.err, &ExitError{1, fmt.Sprintf(format, args...)})
}

// number reads an argument as a number; 'x is the code of x.
func (f *printer) number(text string) int64 {
	if text == "" {
		return 0
	}
	if (text[0] == '\'' || text[0] == '"') && len(text) > 1 {
		return int64(text[1])
	}
	n, err := number(strings.TrimLeft(text, " "))
	if err != nil {
		f.fail("printf: %s: expected numeric value", text)
		n, _ = number(text[:len(text)-len(strings.TrimLeft(text, "-+0123456789"))])
	}
	return n
}

// expandFormat replaces each directive of a format, such as "%d" or "%-d", by the text that value returns for it, and "%%" by "%".
func expandFormat(format string, value func(directive string) (string, error)) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		begin := i
		if format[i] == '-' && i+1 < len(format) {
			i++
		}
		directive := format[begin : i+1]
		if directive == "%" {
			b.WriteByte('%')
			continue
		}
		text, err := value(directive)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
