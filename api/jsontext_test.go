package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzMembersAndItemsOfJSONAreThoseThatADecoderFinds(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b":[1, {"x":"}"}],"c":"\"]\\", "d":-1.5e3,"e":null } `, `[ [], {} , "a,b" ,true, 12 ]`,
		`[1]`, `"text"`, `12`, `{"\u0061":1}`, `{"ä":[]}`, `[{"a":[{"b":{}}]},"["]`, "{\"a\"\n:\n[\n]\n,\"b\"\r:\t{\r}\t}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		members := map[string]string{}
		ok := jsonMembers(text, func(name, value []byte) bool {
			members[string(name)] = compact(t, value)
			return true
		})
		var want map[string]json.RawMessage
		if isObject := json.Unmarshal(text, &want) == nil && want != nil; ok {
			require.True(t, isObject)
			require.Len(t, members, len(want))
			for name, value := range want {
				require.Equal(t, compact(t, value), members[name], name)
			}
		}
		var items, list []string
		ok = jsonItems(text, func(item []byte) bool {
			items = append(items, compact(t, item))
			return true
		})
		var wanted []json.RawMessage
		require.Equal(t, json.Unmarshal(text, &wanted) == nil && wanted != nil, ok)
		for _, item := range wanted {
			list = append(list, compact(t, item))
		}
		require.Equal(t, fmt.Sprint(list), fmt.Sprint(items))
	})
}

// compact is a value without the space in it.
func compact(t *testing.T, value []byte) string {
	var out json.RawMessage
	require.NoError(t, json.Unmarshal(value, &out), "%q", value)
	text, err := json.Marshal(out)
	require.NoError(t, err)
	return string(text)
}
