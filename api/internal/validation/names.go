package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// A nameRule says what names a kind may have: quick accepts the good ones
// without a regular expression, full explains the bad ones.
type nameRule struct {
	quick func(string) bool
	full  apivalidation.ValidateNameFunc
}

var (
	dnsSubdomain = nameRule{IsSubdomain, apivalidation.NameIsDNSSubdomain}
	dnsLabel     = nameRule{IsLabel, apivalidation.NameIsDNSLabel}
	pathSegment  = nameRule{IsSubdomain, validatePathSegmentName}
	ipAddress    = nameRule{func(name string) bool { return len(ipAddressName(name, false)) == 0 }, ipAddressName}
)

// ipAddressName says why a name is no address.
// Upstream: networking/validation ValidateIPAddressName, v1.37.2.
func ipAddressName(name string, _ bool) (msgs []string) {
	for _, err := range utilvalidation.IsValidIP(MetadataPath, name) {
		msgs = append(msgs, err.Detail)
	}
	return msgs
}

// validatePathSegmentName says why a name cannot be part of a path.
func validatePathSegmentName(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// pathSegmentOrPrefix says why a name cannot be part of a path, or a prefix of one.
// Upstream: apimachinery api/validation/path ValidatePathSegmentName, v1.37.2.
func pathSegmentOrPrefix(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

func isLowerAlnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func isAlnum(c byte) bool { return isLowerAlnum(c) || c >= 'A' && c <= 'Z' }

// IsLabel reports whether s is a DNS label (RFC 1123).
func IsLabel(s string) bool { return len(s) <= 63 && isSubdomainPart(s) }

func isSubdomainPart(s string) bool {
	if s == "" || !isLowerAlnum(s[0]) || !isLowerAlnum(s[len(s)-1]) {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if !isLowerAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// IsSubdomain reports whether s is a DNS subdomain (RFC 1123). As upstream, the
// whole is limited to 253 characters and its parts are not limited to 63.
func IsSubdomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	for {
		dot := strings.IndexByte(s, '.')
		if dot < 0 {
			return isSubdomainPart(s)
		}
		if !isSubdomainPart(s[:dot]) {
			return false
		}
		s = s[dot+1:]
	}
}

// IsQualifiedName reports whether s is a label or annotation key: a name of at
// most 63 characters, optionally after a DNS subdomain and a slash.
func IsQualifiedName(s string) bool {
	if slash := strings.IndexByte(s, '/'); slash >= 0 {
		if !IsSubdomain(s[:slash]) {
			return false
		}
		s = s[slash+1:]
	}
	return s != "" && IsLabelValue(s)
}

// IsLabelValue reports whether s may be the value of a label.
func IsLabelValue(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > 63 || !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if c := s[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
