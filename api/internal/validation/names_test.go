package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// The quick checks must never accept what the real rules refuse, and for names
// that occur must not send everything to the slow ones.
func TestTheQuickNameChecksAgreeWithTheRealRules(t *testing.T) {
	names := []string{
		"", "a", "A", "-", ".", "/", "a-", "-a", "a.b", "a..b", ".a", "a.", "a_b", "a/b", "a/b/c", "/a", "a/", "A/b", "a/B_c", "a/.b",
		"pvc-0f3b", "openebs.io/local", "volume.kubernetes.io/selected-node", "example.com/" + strings.Repeat("x", 64),
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254), "1", "1a", "ä", "a b", "a\nb",
	}
	for _, name := range names {
		require.Equal(t, len(utilvalidation.IsDNS1123Subdomain(name)) == 0, IsSubdomain(name), "subdomain %q", name)
		require.Equal(t, len(utilvalidation.IsDNS1123Label(name)) == 0, IsLabel(name), "label %q", name)
		require.Equal(t, len(utilvalidation.IsQualifiedName(name)) == 0, IsQualifiedName(name), "qualified name %q", name)
		require.Equal(t, len(utilvalidation.IsValidLabelValue(name)) == 0, IsLabelValue(name), "label value %q", name)
	}
}

func FuzzTheQuickNameChecksAgreeWithTheRealRules(f *testing.F) {
	seedtest.Corpus(f, 500, []any{"a.b/c_d"})
	f.Fuzz(func(t *testing.T, name string) {
		require.Equal(t, len(utilvalidation.IsDNS1123Subdomain(name)) == 0, IsSubdomain(name))
		require.Equal(t, len(utilvalidation.IsQualifiedName(name)) == 0, IsQualifiedName(name))
		require.Equal(t, len(utilvalidation.IsValidLabelValue(name)) == 0, IsLabelValue(name))
		if dnsSubdomain.quick(strings.TrimSuffix(name, "-")) {
			require.Empty(t, apivalidation.NameIsDNSSubdomain(name, true), "as generateName")
		}
	})
}
