package storage

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

const (
	maxParameters    = 512
	maxParameterSize = 256 << 10 // bytes, keys and values together
)

var (
	classReclaimPolicies = []v1.PersistentVolumeReclaimPolicy{v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeReclaimRetain}
	bindingModes         = []storagev1.VolumeBindingMode{storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer}
)

// checkStorageClass validates a StorageClass. That it needs a provisioner is said by a tag of its type, and so comes last.
// Upstream: storage/validation ValidateStorageClass and storage/v1/zz_generated.validations.go Validate_StorageClass, v1.37.2.
func checkStorageClass(p *validation.Problems, c *storagev1.StorageClass) {
	checkClassFields(p, c)
	p.Need(nil, "provisioner", c.Provisioner)
}

// checkClassFields validates the fields without their tags.
func checkClassFields(p *validation.Problems, c *storagev1.StorageClass) {
	if c.Provisioner != "" {
		checkProvisioner(p, c.Provisioner, field.NewPath("provisioner"))
	}
	checkParameters(p, c.Parameters, field.NewPath("parameters"))
	if r := c.ReclaimPolicy; r != nil && *r != "" && !slices.Contains(classReclaimPolicies, *r) {
		p.Add(field.NotSupported(field.NewPath("reclaimPolicy"), *r, classReclaimPolicies))
	}
	if c.VolumeBindingMode == nil {
		p.Required(field.NewPath("volumeBindingMode"), "")
	} else if !slices.Contains(bindingModes, *c.VolumeBindingMode) {
		p.Add(field.NotSupported(field.NewPath("volumeBindingMode"), *c.VolumeBindingMode, bindingModes))
	}
	checkTopologies(p, c.AllowedTopologies, field.NewPath("allowedTopologies"))
}

// checkStorageClassUpdate keeps what volumes were provisioned by.
// Upstream: storage/v1 StorageClass, declarative validation (required, immutable), v1.37.2.
func checkStorageClassUpdate(p *validation.Problems, c, old *storagev1.StorageClass) {
	checkStorageClass(p, c)
	p.Fixed(c.Provisioner, old.Provisioner, field.NewPath("provisioner")) // by tags, and so in the order of the type's fields
	p.Fixed(c.Parameters, old.Parameters, field.NewPath("parameters"))
	p.Fixed(c.ReclaimPolicy, old.ReclaimPolicy, field.NewPath("reclaimPolicy"))
	p.Fixed(c.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))
}

func checkProvisioner(p *validation.Problems, name string, at *field.Path) {
	if name == "" {
		p.Required(at, "")
		return
	}
	lower := strings.ToLower(name)
	if !validation.IsQualifiedName(lower) {
		p.Messages(at, lower, utilvalidation.IsQualifiedName(lower))
	}
}

func checkParameters(p *validation.Problems, params map[string]string, at *field.Path) {
	if len(params) > maxParameters {
		p.Add(field.TooLong(at, "", maxParameters))
		return
	}
	size := 0
	for key, value := range params {
		if key == "" {
			p.Invalid(at, key, "field can not be empty.")
		}
		size += len(key) + len(value)
	}
	if size > maxParameterSize {
		p.Add(field.TooLong(at, "", maxParameterSize))
	}
}

// checkTopologies validates allowedTopologies: no key twice in a term, no value twice
// under a key, and no term twice. A term without expressions counts as a repeated
// one, even if it is the only one: upstream compares it with a list that begins
// with empty terms.
// Upstream: storage/validation validateAllowedTopologies, v1.37.
func checkTopologies(p *validation.Problems, terms []v1.TopologySelectorTerm, path *field.Path) {
	seen := make([]map[string]map[string]bool, 0, len(terms)+1)
	if len(terms) > 0 {
		seen = append(seen, map[string]map[string]bool{})
	}
	for i, term := range terms {
		at := path.Index(i).Child("matchLabelExpressions")
		raw := map[string]map[string]bool{}
		for j, e := range term.MatchLabelExpressions {
			values := map[string]bool{}
			if len(e.Values) == 0 {
				p.Required(at.Index(j).Child("values"), "")
			}
			for k, value := range e.Values {
				if values[value] {
					p.Duplicate(at.Index(j).Child("values").Index(k), value)
				}
				values[value] = true
			}
			p.QualifiedName(e.Key, at.Index(j).Child("key"))
			if _, again := raw[e.Key]; again {
				p.Duplicate(at.Index(j).Child("key"), e.Key)
			}
			raw[e.Key] = values
		}
		for _, other := range seen {
			if reflect.DeepEqual(raw, other) {
				p.Duplicate(at, "")
			}
		}
		seen = append(seen, raw)
	}
}

// checkAttributesClass validates a VolumeAttributesClass.
// Upstream: storage/validation ValidateVolumeAttributesClass, v1.37.
func checkAttributesClass(p *validation.Problems, c *storagev1.VolumeAttributesClass) {
	checkProvisioner(p, c.DriverName, field.NewPath("driverName"))
	checkParameters(p, c.Parameters, field.NewPath("parameters"))
	if len(c.Parameters) == 0 {
		p.Required(field.NewPath("parameters"), "must contain at least one key/value pair")
	}
}

func checkAttributesClassUpdate(p *validation.Problems, c, old *storagev1.VolumeAttributesClass) {
	if c.DriverName != old.DriverName {
		p.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden.")
	}
	if !reflect.DeepEqual(c.Parameters, old.Parameters) {
		p.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden.")
	}
	checkAttributesClass(p, c)
}
