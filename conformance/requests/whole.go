package requests

import (
	"cmp"
	"maps"
	"slices"
)

// compareManagers compares the managedFields of two objects, but for their times and their order, which comes from the times.
func compareManagers(recorded, ours map[string]any) (found []Difference) {
	diff("/metadata/managedFields", managersOf(recorded), managersOf(ours), func(where string, r, o any) {
		if a, b := printed(r), printed(o); a != b {
			found = append(found, Difference{where, a, b})
		}
	})
	return found
}

// managersOf returns the managedFields of an object in the order of their managers, with their times left out.
func managersOf(metadata map[string]any) []any {
	list, _ := metadata["managedFields"].([]any)
	out := make([]any, 0, len(list))
	for _, entry := range list {
		entry := maps.Clone(asMap(entry))
		if entry["time"] != nil {
			entry["time"] = "<time>"
		}
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b any) int { return cmp.Compare(printed(a), printed(b)) })
	return out
}

// compareVersions reports an object that one server has written, and the other has not: its version is another only there.
func (s *Server) compareVersions(r *Result, recorded, ours map[string]any) []Difference {
	theirs, _ := recorded["resourceVersion"].(string)
	here, _ := ours["resourceVersion"].(string)
	if theirs == "" || here == "" {
		return nil
	}
	const where, same, other = "/metadata/resourceVersion", "as before", "another"
	if before, known := s.ours[theirs]; known && before != here {
		return []Difference{{where, same, other}}
	}
	for version, before := range s.ours {
		if before == here && version != theirs {
			return []Difference{{where, other, same}}
		}
	}
	return nil
}
