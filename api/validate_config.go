package api

import (
	"bytes"
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
		p.configKey(key)
		size += len(c.Data[key])
		if _, ok := c.BinaryData[key]; ok {
			p.invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		p.configKey(key)
		size += len(c.BinaryData[key])
	}
	p.configSize(size)
}

func (p *problems) secret(s *v1.Secret) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		p.configKey(key)
		size += len(s.Data[key])
	}
	p.configSize(size)
}

func (p *problems) configKey(key string) {
	if !isLabelValue(key) || key == "" {
		p.messages(field.NewPath("data").Key(key), key, validation.IsConfigMapKey(key))
	}
}

func (p *problems) configSize(size int) {
	if size > maxConfigSize {
		p.add(field.TooLong(field.NewPath(""), "", maxConfigSize))
	}
}

func (p *problems) configMapUpdate(c, old *v1.ConfigMap) {
	p.configMap(c)
	if old.Immutable != nil && *old.Immutable {
		p.sealed(c.Immutable, c.Data, old.Data, c.BinaryData, old.BinaryData)
	}
}

func (p *problems) secretUpdate(s, old *v1.Secret) {
	p.secret(s)
	if s.Type != old.Type {
		p.invalid(field.NewPath("type"), s.Type, apivalidation.FieldImmutableErrorMsg)
	}
	if old.Immutable != nil && *old.Immutable {
		p.sealed(s.Immutable, nil, nil, s.Data, old.Data)
	}
}

// sealed keeps an immutable ConfigMap or Secret as it is.
func (p *problems) sealed(immutable *bool, text, oldText map[string]string, binary, oldBinary map[string][]byte) {
	const msg = "field is immutable when `immutable` is set"
	if immutable == nil || !*immutable {
		p.forbidden(field.NewPath("immutable"), msg)
	}
	if !maps.Equal(text, oldText) || !maps.EqualFunc(binary, oldBinary, bytes.Equal) {
		p.forbidden(field.NewPath("data"), msg)
	}
}
