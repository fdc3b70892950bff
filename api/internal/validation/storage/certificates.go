package storage

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Upstream: core/validation ValidateSignerName, v1.37.
func checkSignerName(p *validation.Problems, name string, at *field.Path) {
	if name == "" {
		p.Required(at, "")
		return
	}
	domain, path, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(path, "/") {
		p.Invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	if len(domain) > utilvalidation.DNS1123SubdomainMaxLength {
		p.Add(field.TooLong(at, "", utilvalidation.DNS1123SubdomainMaxLength))
	}
	parts := strings.Split(domain, ".")
	checkFirstBadPart(p, domain, parts, utilvalidation.IsDNS1123Label, at)
	if len(parts) < 2 {
		p.Invalid(at, domain, "should be a domain with at least two segments separated by dots")
	}
	checkFirstBadPart(p, path, strings.Split(path, "."), utilvalidation.IsDNS1123Subdomain, at)
	const most = utilvalidation.DNS1123SubdomainMaxLength + 1 + utilvalidation.DNS1123SubdomainMaxLength + utilvalidation.DNS1123LabelMaxLength + 1
	if len(name) > most {
		p.Add(field.TooLong(at, "", most))
	}
}

// checkFirstBadPart tells what is wrong with the first part that breaks a rule.
func checkFirstBadPart(p *validation.Problems, whole string, parts []string, rule func(string) []string, at *field.Path) {
	for _, part := range parts {
		if texts := rule(part); len(texts) > 0 {
			for _, text := range texts {
				p.Invalid(at, whole, fmt.Sprintf("validating label %q: %s", part, text))
			}
			return
		}
	}
}

// bundleName says why a ClusterTrustBundle of a signer, or of none, cannot have a name.
// Upstream: core/validation ValidateClusterTrustBundleName, v1.37.
func bundleName(name, signer string) []string {
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{"ClusterTrustBundle without signer name must not have \":\" in its name"}
		}
		return apivalidation.NameIsDNSSubdomain(name, false)
	}
	prefix := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, prefix)}
	}
	return apivalidation.NameIsDNSSubdomain(rest, false)
}

// CheckProjectedBundle validates a file with the certificates of a ClusterTrustBundle.
// Upstream: core/validation validateProjectionSources, v1.37.
func CheckProjectedBundle(p *validation.Problems, s *v1.ClusterTrustBundleProjection, at *field.Path) {
	switch {
	case s.Name != nil && s.SignerName != nil:
		p.Invalid(at, s, "only one of name and signerName may be used")
	case s.Name != nil:
		if *s.Name == "" {
			p.Required(at.Child("name"), "must be a valid object name")
		}
		signer := ""
		if i := strings.LastIndex(*s.Name, ":"); i >= 0 {
			signer = strings.ReplaceAll((*s.Name)[:i], ":", "/")
		}
		for _, text := range bundleName(*s.Name, signer) {
			p.Invalid(at.Child("name"), *s.Name, "not a valid clustertrustbundlename: "+text)
		}
		if s.LabelSelector != nil {
			p.Invalid(at.Child("labelSelector"), s.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case s.SignerName != nil:
		if *s.SignerName == "" {
			p.Required(at.Child("signerName"), "must be a valid signer name")
		}
		checkSignerName(p, *s.SignerName, at.Child("signerName"))
		p.LabelSelector(s.LabelSelector, at.Child("labelSelector"))
	default:
		p.Required(at, "either name or signerName must be specified")
	}
	p.Need(at, "path", s.Path)
	validation.CheckLocalPath(p, s.Path, at.Child("path"))
}

// keyTypes are the kinds of keys that a kubelet makes for a pod's certificate.
var keyTypes = []string{"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"}

// The time for which a pod's certificate may be valid, in seconds.
const (
	leastExpiration  = 3600
	mostExpiration   = 91 * 24 * 3600
	mostOfKubernetes = 24 * 3600
)

// checkUserAnnotations validates the annotations that a pod adds to its certificate's request.
// Upstream: core/validation ValidateUserAnnotations, v1.37.2.
func checkUserAnnotations(p *validation.Problems, annotations map[string]string, at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		p.Add(utilvalidation.IsDomainPrefixedKey(at, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		p.Add(field.TooLong(at, "", apivalidation.TotalAnnotationSizeLimitB))
	}
}

// CheckProjectedCertificate validates a pod's certificate. file is called with each of its files.
// Upstream: core/validation validateProjectionSources, v1.37.
func CheckProjectedCertificate(p *validation.Problems, s *v1.PodCertificateProjection, at *field.Path, file func(path string)) {
	checkSignerName(p, s.SignerName, at.Child("signerName"))
	checkUserAnnotations(p, s.UserAnnotations, at.Child("userAnnotations"))
	if !slices.Contains(keyTypes, s.KeyType) {
		p.Add(field.NotSupported(at.Child("keyType"), s.KeyType, keyTypes))
	}
	if n := s.MaxExpirationSeconds; n != nil {
		most := int32(mostExpiration)
		if host, _, _ := strings.Cut(s.SignerName, "/"); host == "kubernetes.io" || strings.HasSuffix(host, ".kubernetes.io") {
			most = mostOfKubernetes
		}
		if *n < leastExpiration {
			p.Invalid(at.Child("maxExpirationSeconds"), *n, fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", leastExpiration))
		}
		if *n > most {
			p.Invalid(at.Child("maxExpirationSeconds"), *n, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", most))
		}
	}
	some := false
	for _, f := range [...]struct{ name, path string }{
		{"credentialBundlePath", s.CredentialBundlePath}, {"keyPath", s.KeyPath}, {"certificateChainPath", s.CertificateChainPath},
	} {
		if f.path != "" {
			some = true
			validation.CheckLocalPath(p, f.path, at.Child(f.name))
			file(f.path)
		}
	}
	if !some {
		p.Required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}

// ClusterTrustBundles returns the validation of clustertrustbundles. That of a signer has a name with colons: example.com:signer:name.
// Upstream: pkg/apis/certificates/validation ValidateClusterTrustBundle and ValidateClusterTrustBundleUpdate, v1.37.
func ClusterTrustBundles() validation.Kind {
	return validation.Typed[*certificatesv1.ClusterTrustBundle]{
		Names: validation.PathSegment,
		Create: func(p *validation.Problems, bundle *certificatesv1.ClusterTrustBundle) {
			checkTrustBundleSpec(p, bundle)
			checkTrustBundle(p, bundle.Spec.TrustBundle, validation.SpecPath.Child("trustBundle"))
		},
		Update: func(p *validation.Problems, bundle, old *certificatesv1.ClusterTrustBundle) {
			checkTrustBundleSpec(p, bundle)
			if bundle.Spec.TrustBundle != old.Spec.TrustBundle {
				checkTrustBundle(p, bundle.Spec.TrustBundle, validation.SpecPath.Child("trustBundle"))
			}
			p.Immutable(bundle.Spec.SignerName, old.Spec.SignerName, validation.SpecPath.Child("signerName"))
		},
	}.Kind()
}

func checkTrustBundleSpec(p *validation.Problems, bundle *certificatesv1.ClusterTrustBundle) {
	p.Messages(validation.MetadataPath.Child("name"), bundle.Name, bundleName(bundle.Name, bundle.Spec.SignerName))
	if bundle.Spec.SignerName != "" {
		checkSignerName(p, bundle.Spec.SignerName, validation.SpecPath.Child("signerName"))
	}
}

// checkTrustBundle requires certificates in PEM, each once.
// Upstream: pkg/apis/certificates/validation validateTrustBundle, v1.37.
func checkTrustBundle(p *validation.Problems, text string, at *field.Path) {
	const most, omitted = 1 << 20, "<value omitted>"
	if len(text) > most {
		p.Add(field.TooLong(at, "", most))
		return
	}
	before, known, order := len(p.List), map[string][]int{}, []string{}
	rest := []byte(text)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		problem := ""
		switch {
		case block.Type != "CERTIFICATE":
			problem = "has bad block type: " + block.Type
		case len(block.Headers) > 0:
			problem = "has PEM block headers"
		case err != nil:
			problem = "does not parse as X.509"
		case !certificate.IsCA:
			problem = "does not have the CA bit set"
		case !certificate.BasicConstraintsValid:
			problem = "has invalid basic constraints"
		}
		if problem != "" {
			p.Invalid(at, omitted, fmt.Sprintf("entry %d %s", i, problem))
			continue
		}
		key := string(block.Bytes)
		if known[key] == nil {
			order = append(order, key)
		}
		known[key] = append(known[key], i)
	}
	if len(p.List) > before {
		return
	}
	if len(order) == 0 {
		p.Invalid(at, omitted, "at least one trust anchor must be provided")
	}
	for _, key := range order {
		if len(known[key]) > 1 {
			p.Invalid(at, omitted, fmt.Sprintf("duplicate trust anchor (indices %v)", known[key]))
		}
	}
}
