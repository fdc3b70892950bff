package quantity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// CheckJSON finds a quantity that is too expensive to parse in the JSON of an object
// of the type that obj points to; nil if there is none. It reads only data that may
// hold such a quantity, so that it otherwise costs one look at every byte. Data that is
// not JSON passes: the decoder refuses it.
func CheckJSON(data []byte, obj any) *Error {
	p := planOf(reflect.TypeOf(obj).Elem())
	if p == nil || !suspicious(data) {
		return nil
	}
	r := reader{json.NewDecoder(bytes.NewReader(data))}
	r.UseNumber()
	found, _ := r.value(p) // of data that is not JSON, nothing is found
	return found
}

// suspicious reports whether data has a number, or a text that begins as one, with more
// digits than MaxLength or with more digits in its exponent than MaxExponent. An escape
// (\u0065 is an e) may hide one.
func suspicious(data []byte) bool {
	const (
		start    = iota // a number may begin
		mantissa        // only digits since
		exponent        // only digits since the e
		word            // anything else
	)
	state, digits := start, 0
	for _, c := range data {
		switch classOf[c] {
		case digit:
			if state == start {
				state = mantissa
			}
			if digits++; state == mantissa && digits > MaxLength || state == exponent && digits > len("999") {
				return true
			}
		case escape:
			return true
		case letterE:
			if state != mantissa {
				state = word
				continue
			}
			state, digits = exponent, 0
		case sign:
			if digits > 0 {
				state = word
			}
		case between:
			state, digits = start, 0
		default:
			state = word
		}
	}
	return false
}

// classOf maps each byte of JSON to its meaning in a number.
var classOf = func() (of [256]class) {
	for c := range of {
		switch {
		case '0' <= c && c <= '9' || c == '.':
			of[c] = digit
		case c == 'e' || c == 'E':
			of[c] = letterE
		case c == '\\':
			of[c] = escape
		case c == '+' || c == '-':
			of[c] = sign
		case c <= ' ' || c >= 0x80 || strings.ContainsRune(`":,[{`, rune(c)):
			of[c] = between
		}
	}
	return of
}()

type class uint8

const (
	other class = iota
	digit
	letterE
	sign
	escape
	between // a number may begin after it
)

// reader reads JSON as it stands: of a field that is there twice, a decoder parses both
// values.
type reader struct{ *json.Decoder }

// value reads a value of which p is the plan.
func (r reader) value(p *plan) (*Error, error) {
	for p != nil && p.kind == pointer {
		p = p.elem
	}
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if p == nil || p.kind == single || (t == '[') != (p.kind == list) {
			return nil, r.skip()
		}
		return r.collection(p)
	case string:
		return p.problemIn(t), nil
	case json.Number:
		return p.problemIn(t.String()), nil
	}
	return nil, nil
}

// collection reads what is left of an object or a list.
func (r reader) collection(p *plan) (*Error, error) {
	for i := 0; r.More(); i++ {
		elem, name := p.elem, fmt.Sprintf("[%d]", i)
		if p.kind != list {
			token, err := r.Token()
			if err != nil {
				return nil, err
			}
			elem, name = p.member(token.(string))
		}
		if found, err := r.value(elem); found != nil || err != nil {
			return found.in(name), err
		}
	}
	_, err := r.Token()
	return nil, err
}

// skip reads what is left of an object or a list that has no quantities.
func (r reader) skip() error {
	for depth := 1; depth > 0; {
		token, err := r.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// member returns the plan of what a struct or a mapping calls by that name, nil if that has no
// quantities, and how a path shows the name. The case of a field does not matter:
// encoding/json does not mind it either.
func (p *plan) member(name string) (*plan, string) {
	if p.kind != structure {
		return p.elem, "[" + name + "]"
	}
	for _, f := range p.fields {
		if strings.EqualFold(name, f.name) {
			return f.plan, f.name
		}
		if f.name == "" && f.plan.kind == structure {
			if inner, name := f.plan.member(name); inner != nil {
				return inner, name
			}
		}
	}
	return nil, ""
}

func (p *plan) problemIn(text string) *Error {
	if p == nil || p.kind != single {
		return nil
	}
	if err := Check(text); err != nil {
		return &Error{Value: cut(text), Problem: err.Error()}
	}
	return nil
}
