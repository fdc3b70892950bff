package validation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxConfigSize = 1 << 20 // bytes, all values together

func (p *problems) configMap(c *v1.ConfigMap) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		p.configKey(key, "data")
		size += len(c.Data[key])
		if _, ok := c.BinaryData[key]; ok {
			p.invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		p.configKey(key, "binaryData")
		size += len(c.BinaryData[key])
	}
	p.configSize(size, "")
}

func (p *problems) secret(s *v1.Secret) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		p.configKey(key, "data")
		size += len(s.Data[key])
	}
	p.configSize(size, "data")
	p.secretType(s)
}

// secretType requires what the type of a secret promises.
// Upstream: core/validation ValidateSecret, v1.37.
func (p *problems) secretType(s *v1.Secret) {
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := s.Data[key]; !ok {
				p.required(field.NewPath("data").Key(key), "")
			}
		}
	}
	config := func(key string) {
		need(key)
		if data, ok := s.Data[key]; ok {
			if err := json.Unmarshal(data, &map[string]any{}); err != nil {
				p.invalid(field.NewPath("data").Key(key), "<secret contents redacted>", err.Error())
			}
		}
	}
	switch s.Type {
	case v1.SecretTypeServiceAccountToken:
		if s.Annotations[v1.ServiceAccountNameKey] == "" {
			p.required(metadataPath.Child("annotations").Key(v1.ServiceAccountNameKey), "")
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
			p.required(field.NewPath("data").Key(v1.SSHAuthPrivateKey), "")
		}
	case v1.SecretTypeTLS:
		need(v1.TLSCertKey, v1.TLSPrivateKeyKey)
	}
}

func (p *problems) configKey(key, child string) {
	if !isLabelValue(key) || key == "" {
		p.messages(field.NewPath(child).Key(key), key, validation.IsConfigMapKey(key))
	}
}

func (p *problems) configSize(size int, path string) {
	if size > maxConfigSize {
		p.add(field.TooLong(field.NewPath(path), "", maxConfigSize))
	}
}

func (p *problems) configMapUpdate(c, old *v1.ConfigMap) {
	p.configMap(c)
	if old.Immutable != nil && *old.Immutable {
		p.sealed(c.Immutable, c.Data, old.Data, c.BinaryData, old.BinaryData, "binaryData")
	}
}

func (p *problems) secretUpdate(s, old *v1.Secret) {
	p.secret(s)
	if s.Type != old.Type {
		p.invalid(field.NewPath("type"), s.Type, apivalidation.FieldImmutableErrorMsg)
	}
	if old.Immutable != nil && *old.Immutable {
		p.sealed(s.Immutable, nil, nil, s.Data, old.Data, "data")
	}
}

// sealed keeps an immutable ConfigMap or Secret as it is.
func (p *problems) sealed(immutable *bool, text, oldText map[string]string, binary, oldBinary map[string][]byte, binaryPath string) {
	const msg = "field is immutable when `immutable` is set"
	if immutable == nil || !*immutable {
		p.forbidden(field.NewPath("immutable"), msg)
	}
	if !maps.Equal(text, oldText) {
		p.forbidden(field.NewPath("data"), msg)
	}
	if !maps.EqualFunc(binary, oldBinary, bytes.Equal) {
		p.forbidden(field.NewPath(binaryPath), msg)
	}
}
