package strategy

// Merged adds the entries of from to those of into, which may be nil, and returns them.
func Merged(into, from map[string]string) map[string]string {
	if len(from) == 0 {
		return into
	}
	if into == nil {
		into = make(map[string]string, len(from))
	}
	for name, value := range from {
		into[name] = value
	}
	return into
}
