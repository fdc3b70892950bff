package main

import (
	"slices"
	"testing"
)

// release returns a release of two files and a test.
func release(t *testing.T, find, config string) tree {
	t.Helper()
	all := tree{}
	for path, source := range map[string]string{"kubernetes/pkg/binding/find.go": find, "kubernetes/pkg/config/types.go": config,
		"kubernetes/pkg/binding/find_test.go": "package binding\n\nfunc Test_Find() {}"} {
		declared, err := declarations([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		all[path] = declared
	}
	return all
}

func TestACitationIsRaisedOnlyWhereWhatItNamesIsTheSame(t *testing.T) {
	before := release(t,
		"package binding\n\nfunc Find() int { return 1 }\ntype Cache struct {\n\tSyncPeriod, size int\n\tkeep int\n}\nfunc (c *Cache) Get() int { return 1 }\n"+
			"const (\n\tA = iota\n\tB\n)\nconst (\n\tPeriod = 1\n\tLimit = 1\n)",
		"package config\n\nvar Usual = 1")
	after := release(t,
		"package binding\n\n// Find is documented now.\nfunc Find() int {\n\treturn 1\n}\ntype Cache struct {\n\tSyncPeriod, size int\n\tkeep int64\n}\n"+
			"func (c *Cache) Get() int { return 2 }\nconst (\n\tNew = iota\n\tA\n\tB\n)\nconst (\n\tPeriod = 1\n\tLimit = 2\n)",
		"package config\n\nvar Usual = 1")
	for comment, want := range map[string][]verdict{
		"// Upstream: find.go Find, v1.36.":                                         {same},
		"// Upstream: pkg/binding Find, v1.36.":                                     {same},
		"// Upstream: binding.Find, v1.36.":                                         {same},
		"// Upstream: find.go Cache.Get, v1.36.":                                    {changed},
		"// Upstream: Cache.size, v1.36.":                                           {same},
		"// Upstream: find.go Cache.keep, v1.36.":                                   {changed},
		"// Upstream: pkg/binding SyncPeriod, v1.36.":                               {same},
		"// Upstream: pkg/binding Cache.lost, v1.36.":                               {missing},
		"// Upstream: find_test.go Test_Find, v1.36.":                               {same},
		"// Upstream: Test_Find, v1.36.":                                            {missing},
		"// Upstream: find.go\n// Find and Get, v1.36.":                             {changed},
		"// Upstream: find.go Find, v1.36; find.go Get, v1.36.3.":                   {same, changed},
		"// Upstream: find.go Period, v1.36.":                                       {same},
		"// Upstream: find.go Limit, v1.36.":                                        {changed},
		"// Upstream: find.go B, v1.36.":                                            {changed},
		"// Upstream: config/types.go, v0.36.":                                      {same},
		"// Upstream: pkg/config, v1.36.":                                           {same},
		"// Upstream: find.go, v1.36.":                                              {changed},
		"// Upstream: find.go findAll, v1.36.":                                      {missing},
		"// Upstream: seek.go Find, v1.36.":                                         {missing},
		"// Upstream: what all do, v1.36.":                                          {missing},
		"// Upstream: find.go Find, v1.35.":                                         nil,
		"// Upstream: find.go Find, v13.1.\n//\n// In v1.36 it was slower.":         nil,
		"// Upstream: find.go Find, v13.1.\nfunc find() // since v1.36 it is used.": nil,
	} {
		var got []verdict
		for _, c := range citationsIn("a.go", comment, "v1.36") {
			c.judge(before, after)
			got = append(got, c.verdict)
			if comment[c.at-1] != 'v' {
				t.Errorf("%s: the release is not at %d", comment, c.at)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", comment, got, want)
		}
	}
}
