package shell

import (
	"errors"
	"fmt"
	"strings"
)

// tr replaces bytes of its input by others, deletes them (-d), or what repeats them (-s). With -c it means all other bytes.
func tr(p *Process) error {
	flags, args, err := options(p.Argv, "cCds", "")
	if err != nil {
		return err
	}
	deletes, squeezes := has(flags, "d"), has(flags, "s")
	most := 2
	if deletes && !squeezes {
		most = 1
	}
	least := most
	if squeezes && !deletes {
		least = 1
	}
	if len(args) < least || len(args) > most {
		return errors.New("tr: usage: tr [-c] SET1 SET2, tr [-c] -d SET1, tr [-c] -s SET1 [SET2], tr [-c] -ds SET1 SET2")
	}
	from, _, err := trSet(args[0])
	if err != nil {
		return err
	}
	if has(flags, "c", "C") {
		from = others(from)
	}
	to := from
	if len(args) == 2 {
		class := ""
		if to, class, err = trSet(args[1]); err != nil {
			return err
		}
		if class != "" && !deletes && (class != "upper" && class != "lower" || has(flags, "c", "C")) {
			return fmt.Errorf("tr: this simulation knows [:%s:] in SET2 only with -ds, and [:upper:] and [:lower:] without -c", class)
		}
		if len(to) == 0 {
			return errors.New("tr: SET2 is empty")
		}
	}
	t := &translation{}
	if squeezes {
		t.squeeze.addAll(to)
	}
	for c := range 256 {
		t.table[c] = byte(c)
	}
	if deletes {
		t.delete.addAll(from)
	} else if len(args) == 2 {
		for i, c := range from {
			t.table[c] = to[min(i, len(to)-1)]
		}
	}
	part := func(data []byte) error { return p.write(t.apply(p.program, data)) }
	if p.reads(nil) {
		return p.eachPart(false, part)
	}
	return inputs(p, nil, func(_ string, data []byte) error { return part(data) })
}

// translation says for each byte what tr makes of it.
type translation struct {
	table           [256]byte
	delete, squeeze trBytes
	before          int // the byte that was written last, plus 1
}

// trBytes is a set of bytes.
type trBytes [256]bool

func (s *trBytes) addAll(list []byte) {
	for _, c := range list {
		s[c] = true
	}
}

func (t *translation) apply(p *Program, data []byte) []byte {
	p.work(len(data))
	out := make([]byte, 0, len(data))
	for _, c := range data {
		if t.delete[c] {
			continue
		}
		c = t.table[c]
		if t.squeeze[c] && t.before == int(c)+1 {
			continue
		}
		t.before = int(c) + 1
		out = append(out, c)
	}
	return out
}

// others returns all bytes that are not in a list, in order.
func others(list []byte) (all []byte) {
	var set trBytes
	set.addAll(list)
	for c := range 256 {
		if !set[c] {
			all = append(all, byte(c))
		}
	}
	return all
}

// trSet reads a set: bytes, ranges as a-z, classes as [:digit:], and escapes. It returns the last class that is in it.
func trSet(text string) (list []byte, class string, err error) {
	for text != "" {
		if name, size := characterClass(text); size > 0 {
			n := len(list)
			for c := range 256 {
				if inClass(name, byte(c)) {
					list = append(list, byte(c))
				}
			}
			if len(list) == n {
				return nil, "", fmt.Errorf("tr: invalid character class '%s'", name)
			}
			class, text = name, text[size:]
			continue
		}
		if strings.HasPrefix(text, "[=") && strings.Contains(text, "=]") || len(text) > 3 && text[0] == '[' && text[2] == '*' && strings.Contains(text[3:], "]") {
			return nil, "", fmt.Errorf("tr: this simulation does not know '%s' in a set", text)
		}
		low, size, err := trByte(text)
		if err != nil {
			return nil, "", err
		}
		text = text[size:]
		high := low
		if len(text) > 1 && text[0] == '-' {
			if high, size, err = trByte(text[1:]); err != nil {
				return nil, "", err
			}
			text = text[1+size:]
		}
		if high < low {
			return nil, "", fmt.Errorf("tr: the ends of the range '%c-%c' are in reverse order", low, high)
		}
		for c := int(low); c <= int(high); c++ {
			list = append(list, byte(c))
		}
		if len(list) > maxOperand {
			return nil, "", fmt.Errorf("tr: a set of more than %d bytes", maxOperand)
		}
	}
	return list, class, nil
}

// trByte reads the first byte of a set.
func trByte(text string) (c byte, size int, err error) {
	if text[0] != '\\' || len(text) == 1 {
		return text[0], 1, nil
	}
	if at := strings.IndexByte(`\abfnrtv-[]`, text[1]); at >= 0 {
		return "\\\a\b\f\n\r\t\v-[]"[at], 2, nil
	}
	n := 0
	for size = 1; size < min(4, len(text)) && text[size] >= '0' && text[size] <= '7'; size++ {
		n = 8*n + int(text[size]-'0')
	}
	if size == 1 || n > 255 {
		return 0, 0, fmt.Errorf("tr: this simulation does not know '\\%c' in a set", text[1])
	}
	return byte(n), size, nil
}
