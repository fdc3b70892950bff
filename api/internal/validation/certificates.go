package validation

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// signerName. Upstream: core/validation ValidateSignerName, v1.37.
func (p *problems) signerName(name string, at *field.Path) {
	if name == "" {
		p.required(at, "")
		return
	}
	domain, path, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(path, "/") {
		p.invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	if len(domain) > validation.DNS1123SubdomainMaxLength {
		p.add(field.TooLong(at, "", validation.DNS1123SubdomainMaxLength))
	}
	parts := strings.Split(domain, ".")
	p.firstBadPart(domain, parts, validation.IsDNS1123Label, at)
	if len(parts) < 2 {
		p.invalid(at, domain, "should be a domain with at least two segments separated by dots")
	}
	p.firstBadPart(path, strings.Split(path, "."), validation.IsDNS1123Subdomain, at)
	const most = validation.DNS1123SubdomainMaxLength + 1 + validation.DNS1123SubdomainMaxLength + validation.DNS1123LabelMaxLength + 1
	if len(name) > most {
		p.add(field.TooLong(at, "", most))
	}
}

// firstBadPart tells what is wrong with the first part that breaks a rule.
func (p *problems) firstBadPart(whole string, parts []string, rule func(string) []string, at *field.Path) {
	for _, part := range parts {
		if texts := rule(part); len(texts) > 0 {
			for _, text := range texts {
				p.invalid(at, whole, fmt.Sprintf("validating label %q: %s", part, text))
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

// projectedBundle validates a file with the certificates of a ClusterTrustBundle.
// Upstream: core/validation validateProjectionSources, v1.37.
func (p *problems) projectedBundle(s *v1.ClusterTrustBundleProjection, at *field.Path) {
	switch {
	case s.Name != nil && s.SignerName != nil:
		p.invalid(at, s, "only one of name and signerName may be used")
	case s.Name != nil:
		if *s.Name == "" {
			p.required(at.Child("name"), "must be a valid object name")
		}
		signer := ""
		if i := strings.LastIndex(*s.Name, ":"); i >= 0 {
			signer = strings.ReplaceAll((*s.Name)[:i], ":", "/")
		}
		for _, text := range bundleName(*s.Name, signer) {
			p.invalid(at.Child("name"), *s.Name, "not a valid clustertrustbundlename: "+text)
		}
		if s.LabelSelector != nil {
			p.invalid(at.Child("labelSelector"), s.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case s.SignerName != nil:
		if *s.SignerName == "" {
			p.required(at.Child("signerName"), "must be a valid signer name")
		}
		p.signerName(*s.SignerName, at.Child("signerName"))
		p.labelSelector(s.LabelSelector, at.Child("labelSelector"))
	default:
		p.required(at, "either name or signerName must be specified")
	}
	p.need(at, "path", s.Path)
	p.localPath(s.Path, at.Child("path"))
}

// keyTypes are the kinds of keys that a kubelet makes for a pod's certificate.
var keyTypes = []string{"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"}

// The time for which a pod's certificate may be valid, in seconds.
const (
	leastExpiration  = 3600
	mostExpiration   = 91 * 24 * 3600
	mostOfKubernetes = 24 * 3600
)

// projectedCertificate validates a pod's certificate. file is called with each of its files.
// Upstream: core/validation validateProjectionSources, v1.37.
func (p *problems) projectedCertificate(s *v1.PodCertificateProjection, at *field.Path, file func(path string)) {
	p.signerName(s.SignerName, at.Child("signerName"))
	p.annotations(s.UserAnnotations, at.Child("userAnnotations"))
	if !slices.Contains(keyTypes, s.KeyType) {
		p.add(field.NotSupported(at.Child("keyType"), s.KeyType, keyTypes))
	}
	if n := s.MaxExpirationSeconds; n != nil {
		most := int32(mostExpiration)
		if host, _, _ := strings.Cut(s.SignerName, "/"); host == "kubernetes.io" || strings.HasSuffix(host, ".kubernetes.io") {
			most = mostOfKubernetes
		}
		if *n < leastExpiration {
			p.invalid(at.Child("maxExpirationSeconds"), *n, fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", leastExpiration))
		}
		if *n > most {
			p.invalid(at.Child("maxExpirationSeconds"), *n, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", most))
		}
	}
	some := false
	for _, f := range [...]struct{ name, path string }{
		{"credentialBundlePath", s.CredentialBundlePath}, {"keyPath", s.KeyPath}, {"certificateChainPath", s.CertificateChainPath},
	} {
		if f.path != "" {
			some = true
			p.localPath(f.path, at.Child(f.name))
			file(f.path)
		}
	}
	if !some {
		p.required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}

// ClusterTrustBundles returns the validation of clustertrustbundles. That of a signer has a name with colons: example.com:signer:name.
// Upstream: pkg/apis/certificates/validation ValidateClusterTrustBundle and ValidateClusterTrustBundleUpdate, v1.37.
func ClusterTrustBundles() Kind {
	return rules[*certificatesv1.ClusterTrustBundle]{
		names: PathSegment,
		create: func(p *problems, bundle *certificatesv1.ClusterTrustBundle) {
			p.trustBundleSpec(bundle)
			p.trustBundle(bundle.Spec.TrustBundle, specPath.Child("trustBundle"))
		},
		update: func(p *problems, bundle, old *certificatesv1.ClusterTrustBundle) {
			p.trustBundleSpec(bundle)
			if bundle.Spec.TrustBundle != old.Spec.TrustBundle {
				p.trustBundle(bundle.Spec.TrustBundle, specPath.Child("trustBundle"))
			}
			p.immutable(bundle.Spec.SignerName, old.Spec.SignerName, specPath.Child("signerName"))
		},
	}.kind()
}

func (p *problems) trustBundleSpec(bundle *certificatesv1.ClusterTrustBundle) {
	p.messages(metadataPath.Child("name"), bundle.Name, bundleName(bundle.Name, bundle.Spec.SignerName))
	if bundle.Spec.SignerName != "" {
		p.signerName(bundle.Spec.SignerName, specPath.Child("signerName"))
	}
}

// trustBundle. Upstream: pkg/apis/certificates/validation validateTrustBundle, v1.37.
func (p *problems) trustBundle(text string, at *field.Path) {
	const most, omitted = 1 << 20, "<value omitted>"
	if len(text) > most {
		p.add(field.TooLong(at, "", most))
		return
	}
	before, known, order := len(p.list), map[string][]int{}, []string{}
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
			p.invalid(at, omitted, fmt.Sprintf("entry %d %s", i, problem))
			continue
		}
		key := string(block.Bytes)
		if known[key] == nil {
			order = append(order, key)
		}
		known[key] = append(known[key], i)
	}
	if len(p.list) > before {
		return
	}
	if len(order) == 0 {
		p.invalid(at, omitted, "at least one trust anchor must be provided")
	}
	for _, key := range order {
		if len(known[key]) > 1 {
			p.invalid(at, omitted, fmt.Sprintf("duplicate trust anchor (indices %v)", known[key]))
		}
	}
}
