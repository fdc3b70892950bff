package cluster

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

const maxConfigSize = 1 << 20 // bytes, all values together

func checkConfigMap(p *validation.Problems, c *v1.ConfigMap) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		checkConfigKey(p, key, "data")
		size += len(c.Data[key])
		if _, ok := c.BinaryData[key]; ok {
			p.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		checkConfigKey(p, key, "binaryData")
		size += len(c.BinaryData[key])
	}
	checkConfigSize(p, size, "")
}

func checkSecret(p *validation.Problems, s *v1.Secret) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		checkConfigKey(p, key, "data")
		size += len(s.Data[key])
	}
	checkConfigSize(p, size, "data")
	checkSecretType(p, s)
}

// checkSecretType requires what the type of a secret promises.
// Upstream: core/validation ValidateSecret, v1.37.
func checkSecretType(p *validation.Problems, s *v1.Secret) {
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := s.Data[key]; !ok {
				p.Required(field.NewPath("data").Key(key), "")
			}
		}
	}
	config := func(key string) {
		need(key)
		if data, ok := s.Data[key]; ok {
			if err := json.Unmarshal(data, &map[string]any{}); err != nil {
				p.Invalid(field.NewPath("data").Key(key), "<secret contents redacted>", err.Error())
			}
		}
	}
	switch s.Type {
	case v1.SecretTypeServiceAccountToken:
		if s.Annotations[v1.ServiceAccountNameKey] == "" {
			p.Required(validation.MetadataPath.Child("annotations").Key(v1.ServiceAccountNameKey), "")
		}
	case v1.SecretTypeDockercfg:
		config(v1.DockerConfigKey)
	case v1.SecretTypeDockerConfigJson:
		config(v1.DockerConfigJsonKey)
	case v1.SecretTypeBasicAuth:
		_, user := s.Data[v1.BasicAuthUsernameKey]
		_, password := s.Data[v1.BasicAuthPasswordKey]
		if !user && !password {
			need(v1.BasicAuthUsernameKey, v1.BasicAuthPasswordKey)
		}
	case v1.SecretTypeSSHAuth:
		if len(s.Data[v1.SSHAuthPrivateKey]) == 0 {
			p.Required(field.NewPath("data").Key(v1.SSHAuthPrivateKey), "")
		}
	case v1.SecretTypeTLS:
		need(v1.TLSCertKey, v1.TLSPrivateKeyKey)
	}
}

func checkConfigKey(p *validation.Problems, key, child string) {
	if !validation.IsLabelValue(key) || key == "" {
		p.Messages(field.NewPath(child).Key(key), key, utilvalidation.IsConfigMapKey(key))
	}
}

func checkConfigSize(p *validation.Problems, size int, path string) {
	if size > maxConfigSize {
		p.Add(field.TooLong(field.NewPath(path), "", maxConfigSize))
	}
}

func checkConfigMapUpdate(p *validation.Problems, c, old *v1.ConfigMap) {
	if old.Immutable != nil && *old.Immutable {
		checkSealed(p, c.Immutable, c.Data, old.Data, c.BinaryData, old.BinaryData, "binaryData")
	}
	checkConfigMap(p, c)
}

func checkSecretUpdate(p *validation.Problems, s, old *v1.Secret) {
	if s.Type != old.Type {
		p.Invalid(field.NewPath("type"), s.Type, apivalidation.FieldImmutableErrorMsg)
	}
	if old.Immutable != nil && *old.Immutable {
		checkSealed(p, s.Immutable, nil, nil, s.Data, old.Data, "data")
	}
	validation.CheckPrefixAgain(p, s, validation.DNSSubdomain)
	checkSecret(p, s)
}

// checkSealed keeps an immutable ConfigMap or Secret as it is.
func checkSealed(p *validation.Problems, immutable *bool, text, oldText map[string]string, binary, oldBinary map[string][]byte, binaryPath string) {
	const msg = "field is immutable when `immutable` is set"
	if immutable == nil || !*immutable {
		p.Forbidden(field.NewPath("immutable"), msg)
	}
	if !maps.Equal(text, oldText) {
		p.Forbidden(field.NewPath("data"), msg)
	}
	if !maps.EqualFunc(binary, oldBinary, bytes.Equal) {
		p.Forbidden(field.NewPath(binaryPath), msg)
	}
}
