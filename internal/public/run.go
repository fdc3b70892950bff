package public

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Objects returns the manifests of what a row has its reader make.
func (r *Row) Objects() string {
	var b strings.Builder
	for _, with := range r.With {
		words := strings.Fields(with)
		namespace, name := path.Split(words[1])
		switch words[0] {
		case "namespace":
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", name)
		case "secret":
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Secret, metadata: {namespace: %s, name: %s}, stringData: {", strings.TrimSuffix(namespace, "/"), name)
			for _, pair := range words[2:] {
				key, value, _ := strings.Cut(pair, "=")
				fmt.Fprintf(&b, "%s: %q, ", key, value)
			}
			b.WriteString("}}\n")
		}
	}
	return b.String()
}

var taken = regexp.MustCompile(`^deviates at .*, program (.+) of container |container \S+ (?:runs|calls) (.+), a program of its image`)

// ReadTrace takes from the records of a run what stands in and which programs are taken to run.
func (o *Outcome) ReadTrace(text []byte) error {
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var record struct {
			Type, Text string
			Record     struct{ Name string }
		}
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			return fmt.Errorf("a record of the trace: %w", err)
		}
		if record.Type == "StandIn" {
			o.StandIns = append(o.StandIns, record.Record.Name)
		}
		if found := taken.FindStringSubmatch(record.Text); found != nil {
			o.Takes = append(o.Takes, found[1]+found[2])
		}
	}
	slices.Sort(o.StandIns)
	slices.Sort(o.Takes)
	o.StandIns, o.Takes = slices.Compact(o.StandIns), slices.Compact(o.Takes)
	return scanner.Err()
}
