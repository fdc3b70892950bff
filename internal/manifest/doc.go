// Package manifest turns the text of manifests, YAML or JSON, into typed API
// objects, and says precisely what is wrong when it cannot.
//
// ParseSet reads any number of sources, each with any number of documents, and
// returns all objects in order or, if anything at all is wrong, none and an
// Errors with one entry per problem: the file, the line, the object, the field
// and what was expected there.
//
//	a.yaml:12: PersistentVolumeClaim/data: spec.resources.requests.storage: "5GG" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)
//
// Parsing has three steps, one per file: documents become YAML nodes that know
// their line (document.go; JSON takes the same road through json.go); nodes are
// checked against the Go type of their kind, which finds all problems and not
// only the first (check.go, scalar.go); what passed is decoded strictly into the
// type (parse.go). The last step should never fail; it is there so that nothing
// is ever dropped silently.
//
// Which kinds there are is the server's to know: its registry is handed in (resources.go).
//
// # Where it differs from kubectl
//
//   - Unknown and duplicate fields are errors, as with kubectl's
//     --validate=strict, and they are found before anything is sent.
//   - Plain yes, no, on and off are booleans only where the field is one.
//     kubectl reads them as booleans everywhere and refuses them in strings.
package manifest
