package shell

import (
	"strconv"
	"strings"
)

// getopts reads the next option.
func (s *shell) getopts(argv []string) {
	if len(argv) < 3 {
		s.fail(2, "getopts: usage: getopts OPTIONS NAME [ARG...]")
		return
	}
	options, name, args := argv[1], argv[2], s.args
	if len(argv) > 3 {
		args = argv[3:]
	}
	index, _ := strconv.Atoi(s.vars["OPTIND"].value)
	index = max(1, index)
	flag, value, hasValue, next := s.nextOption(options, args, index)
	if flag == "" {
		s.status = 1
		flag = "?"
	}
	at := s.optchar
	err := s.set("OPTIND", strconv.Itoa(next))
	s.optchar = at
	if err == nil && hasValue {
		err = s.set("OPTARG", value)
	} else if err == nil {
		s.unset("OPTARG")
	}
	if err == nil {
		err = s.set(name, flag)
	}
	if err != nil {
		s.fail(2, "getopts: %v", err)
	}
}

// nextOption returns the next option of args; "" if there is none.
func (s *shell) nextOption(options string, args []string, index int) (flag, value string, hasValue bool, next int) {
	if index > len(args) || s.optchar == 0 && (len(args[index-1]) < 2 || args[index-1][0] != '-') {
		return "", "", false, index
	}
	word := args[index-1]
	if word == "--" {
		return "", "", false, index + 1
	}
	at := min(max(1, s.optchar), len(word)-1)
	flag = word[at : at+1]
	if s.optchar = at + 1; s.optchar == len(word) {
		s.optchar, index = 0, index+1
	}
	quiet := strings.HasPrefix(options, ":")
	known := strings.Index(options, flag)
	switch {
	case known < 0 || flag == ":":
		if !quiet {
			s.warn("Illegal option -%s", flag)
		}
		return "?", flag, quiet, index
	case known+1 >= len(options) || options[known+1] != ':':
		return flag, "", false, index
	case s.optchar > 0:
		value, s.optchar = word[s.optchar:], 0
		return flag, value, true, index + 1
	case index <= len(args):
		return flag, args[index-1], true, index + 1
	case quiet:
		return ":", flag, true, index
	}
	s.warn("No arg for -%s option", flag)
	return "?", "", false, index
}
