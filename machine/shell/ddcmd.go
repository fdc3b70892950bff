package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/disk"
)

// ddCopy holds the operands of dd.
type ddCopy struct {
	from, to          string // "" is the standard input, or output
	block             int
	count             int // -1 is all
	skip, seek        int
	notrunc, appended bool
	quiet             bool
}

// dd copies a file in blocks, and tells on the standard error how many there were. It tells no speed: copying takes no time here.
func dd(p *Process) error {
	c, err := ddOperands(p.Argv[1:])
	if err != nil {
		return fmt.Errorf("dd: %w", err)
	}
	data, err := p.blocksOf(c)
	if err != nil {
		return fmt.Errorf("dd: failed to open '%s': %w", c.from, reason(err))
	}
	written, err := p.putBlocks(c, data)
	if err != nil {
		err = fmt.Errorf("dd: error writing '%s': %w", c.to, reason(err))
	}
	if !c.quiet { // a failure of this write cannot be reported
		_, _ = fmt.Fprintf(p.Stderr, "%s records in\n%s records out\n", records(len(data), c.block), records(written, c.block))
	}
	return err
}

// records counts whole blocks, and a last one that is not whole.
func records(n, block int) string { return fmt.Sprintf("%d+%d", n/block, min(1, n%block)) }

// blocksOf returns the bytes to be copied: of a device without an end as many as count says.
func (p *Process) blocksOf(c *ddCopy) ([]byte, error) {
	most := -1
	if c.count >= 0 {
		most = c.count * c.block
		p.upTo = max(1, most)
	}
	name := c.from
	if name == "" {
		name = "-"
	}
	data, err := p.input(name)
	if readDevice(p.Path(name)) == nil {
		data = data[min(len(data), c.skip*c.block):]
	}
	if most >= 0 {
		data = data[:min(len(data), most)]
	}
	return data, err
}

// putBlocks writes the blocks, one after the other, so that a disk that becomes full has those before. It returns how many bytes were written.
func (p *Process) putBlocks(c *ddCopy, data []byte) (written int, err error) {
	if c.to == "" {
		if err := p.write(data); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	name := p.Path(c.to)
	p.worksOn(name)
	c.notrunc = c.notrunc || p.program.files.isBlock(p.program.files.follow(name, true)) // a device keeps its size
	before, behind, err := p.around(c, name, len(data))
	if err != nil {
		return 0, err
	}
	if err := p.program.files.create(name, p.umask); err != nil {
		return 0, err
	}
	if err := p.program.files.write(name, before); err != nil {
		return 0, err
	}
	for part := range slices.Chunk(data, max(1, len(data)/c.block/1000)*c.block) {
		if err := p.program.files.write(name, part); err != nil {
			return written, err
		}
		written += len(part)
	}
	return written, p.program.files.write(name, behind)
}

// around returns what the file has before the place of n bytes, with zeros up to it, and what stays behind them.
func (p *Process) around(c *ddCopy, name string, n int) (before, behind []byte, err error) {
	if !c.notrunc && c.seek == 0 && !c.appended {
		return nil, nil, nil
	}
	old, err := p.program.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	at := c.seek * c.block
	if c.appended {
		at = len(old)
	}
	if at+n > rootSize {
		return nil, nil, disk.ErrTooLarge
	}
	before = slices.Concat(old[:min(len(old), at)], make([]byte, max(0, at-len(old))))
	if c.notrunc {
		behind = old[min(len(old), at+n):]
	}
	return before, behind, nil
}

// ddOperands reads NAME=VALUE words. Flags that only say how a disk is written change nothing here.
func ddOperands(words []string) (*ddCopy, error) {
	c := &ddCopy{block: 512, count: -1}
	how := []string{"append", "direct", "dsync", "sync", "nocache", "nonblock", "fullblock"}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "if":
			c.from = value
		case "of":
			c.to = value
		case "bs", "ibs", "obs":
			c.block, err = ddNumber(value, 1)
		case "count":
			c.count, err = ddNumber(value, 0)
		case "skip":
			c.skip, err = ddNumber(value, 0)
		case "seek":
			c.seek, err = ddNumber(value, 0)
		case "conv":
			c.notrunc, err = ddWords(name, value, "notrunc", "fsync", "fdatasync")
		case "oflag":
			c.appended, err = ddWords(name, value, how...)
		case "iflag":
			_, err = ddWords(name, value, how...)
		case "status":
			c.quiet, err = ddWords(name, value, "none", "noxfer", "progress")
		default:
			err = fmt.Errorf("unrecognized operand '%s'", word)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.count > 0 && c.count > rootSize/c.block || max(c.skip, c.seek) > rootSize/c.block {
		return nil, disk.ErrTooLarge
	}
	return c, nil
}

// ddWords refuses words that are not known, and reports whether the first of those is among them.
func ddWords(operand, list string, known ...string) (found bool, err error) {
	for word := range strings.SplitSeq(list, ",") {
		if !slices.Contains(known, word) {
			return false, fmt.Errorf("this simulation does not know %s=%s%s", operand, word, prose.OneOf(word, known))
		}
		found = found || word == known[0]
	}
	return found, nil
}

// ddNumber reads a number with a unit: 4k, 1M, 10MB.
func ddNumber(text string, least int) (int, error) {
	units := []struct {
		name   string
		factor int
	}{{"kB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"c", 1}, {"w", 2}, {"b", 512}, {"k", 1 << 10}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}
	digits, factor := text, 1
	for _, unit := range units {
		if rest, ok := strings.CutSuffix(text, unit.name); ok {
			digits, factor = rest, unit.factor
			break
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < least || n > 1<<40/factor {
		return 0, fmt.Errorf("invalid number: '%s'", text)
	}
	return n * factor, nil
}
