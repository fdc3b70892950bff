package shell

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

func md5sum(p *Process) error {
	return sums(p, func(data []byte) string { return fmt.Sprintf("%x", md5.Sum(data)) })
}

func sha1sum(p *Process) error {
	return sums(p, func(data []byte) string { return fmt.Sprintf("%x", sha1.Sum(data)) })
}

func sha256sum(p *Process) error {
	return sums(p, func(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) })
}

func sha512sum(p *Process) error {
	return sums(p, func(data []byte) string { return fmt.Sprintf("%x", sha512.Sum512(data)) })
}

// sums prints the sum of each file; with -c it compares files with a list that it has printed.
func sums(p *Process, sum func(data []byte) string) error {
	flags, names, err := options(p.Argv, "bcst", "")
	if err != nil {
		return err
	}
	if has(flags, "c") {
		return checkSums(p, names, has(flags, "s"), sum)
	}
	return inputs(p, names, func(name string, data []byte) error {
		p.program.work(len(data))
		return p.printf("%s  %s\n", sum(data), name)
	})
}

func checkSums(p *Process, lists []string, silent bool, sum func(data []byte) string) error {
	checked, failed := 0, 0
	err := inputs(p, lists, func(_ string, list []byte) error {
		var errs []error
		for line := range strings.Lines(string(list)) {
			want, name, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
			if !ok || len(name) < 2 {
				continue
			}
			checked++
			data, err := p.input(name[1:])
			p.program.work(len(data))
			verdict := "OK"
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", p.Argv[0], name[1:], reason(err)))
				verdict = "FAILED open or read"
			} else if sum(data) != want {
				verdict = "FAILED"
			}
			if verdict != "OK" {
				failed++
			}
			if !silent {
				errs = append(errs, p.printf("%s: %s\n", name[1:], verdict))
			}
		}
		return errors.Join(errs...)
	})
	switch {
	case err == nil && checked == 0:
		return fmt.Errorf("%s: no checksum lines found", p.Argv[0])
	case failed > 0 && !silent:
		err = errors.Join(err, fmt.Errorf("%s: WARNING: %d of %d computed checksums did NOT match", p.Argv[0], failed, checked))
	case failed > 0 && err == nil:
		err = &ExitError{Code: 1}
	}
	return err
}

// base64Of encodes its input in lines of 76 characters (-w N, 0 for one line), or decodes it (-d).
func base64Of(p *Process) error {
	flags, names, err := options(p.Argv, "di", "w")
	if err != nil {
		return err
	}
	width := 76
	if text, ok := flags["w"]; ok {
		if width, err = strconv.Atoi(text); err != nil || width < 0 {
			return fmt.Errorf("base64: invalid wrap size: '%s': it must be a number, 0 for one line", text)
		}
	}
	if len(names) > 1 {
		return fmt.Errorf("base64: extra operand '%s'", names[1])
	}
	return inputs(p, names, func(_ string, data []byte) error {
		p.program.work(len(data))
		if has(flags, "d") {
			text := strings.Join(strings.Fields(string(data)), "")
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				err = errors.New("base64: invalid input")
			}
			return errors.Join(p.write(decoded), err)
		}
		text := base64.StdEncoding.EncodeToString(data)
		for text != "" {
			n := len(text)
			if width > 0 {
				n = min(n, width)
			}
			line := text[:n]
			if text = text[n:]; width > 0 {
				line += "\n"
			}
			if err := p.write([]byte(line)); err != nil {
				return err
			}
		}
		return nil
	})
}
