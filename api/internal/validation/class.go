package validation

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxParameters    = 512
	maxParameterSize = 256 << 10 // bytes, keys and values together
)

var (
	classReclaimPolicies = []v1.PersistentVolumeReclaimPolicy{v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeReclaimRetain}
	bindingModes         = []storagev1.VolumeBindingMode{storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer}
)

// storageClass validates a StorageClass.
// Upstream: storage/validation ValidateStorageClass, v1.37.
func (p *problems) storageClass(c *storagev1.StorageClass) {
	p.provisioner(c.Provisioner, field.NewPath("provisioner"))
	p.parameters(c.Parameters, field.NewPath("parameters"))
	if r := c.ReclaimPolicy; r != nil && *r != "" && !slices.Contains(classReclaimPolicies, *r) {
		p.add(field.NotSupported(field.NewPath("reclaimPolicy"), *r, classReclaimPolicies))
	}
	if c.VolumeBindingMode == nil {
		p.required(field.NewPath("volumeBindingMode"), "")
	} else if !slices.Contains(bindingModes, *c.VolumeBindingMode) {
		p.add(field.NotSupported(field.NewPath("volumeBindingMode"), *c.VolumeBindingMode, bindingModes))
	}
	p.topologies(c.AllowedTopologies, field.NewPath("allowedTopologies"))
}

// storageClassUpdate keeps what volumes were provisioned by.
// Upstream: storage/v1 StorageClass, declarative validation (immutable), v1.37.
func (p *problems) storageClassUpdate(c, old *storagev1.StorageClass) {
	p.storageClass(c)
	p.fixed(c.Parameters, old.Parameters, field.NewPath("parameters"))
	p.fixed(c.Provisioner, old.Provisioner, field.NewPath("provisioner"))
	p.fixed(c.ReclaimPolicy, old.ReclaimPolicy, field.NewPath("reclaimPolicy"))
	p.fixed(c.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))
}

func (p *problems) provisioner(name string, at *field.Path) {
	if name == "" {
		p.required(at, "")
		return
	}
	lower := strings.ToLower(name)
	if !isQualifiedName(lower) {
		p.messages(at, lower, validation.IsQualifiedName(lower))
	}
}

func (p *problems) parameters(params map[string]string, at *field.Path) {
	if len(params) > maxParameters {
		p.add(field.TooLong(at, "", maxParameters))
		return
	}
	size := 0
	for key, value := range params {
		if key == "" {
			p.invalid(at, key, "field can not be empty.")
		}
		size += len(key) + len(value)
	}
	if size > maxParameterSize {
		p.add(field.TooLong(at, "", maxParameterSize))
	}
}

// topologies validates allowedTopologies: no key twice in a term, no value twice
// under a key, and no term twice. A term without expressions counts as a repeated
// one, even if it is the only one: upstream compares it with a list that begins
// with empty terms.
// Upstream: storage/validation validateAllowedTopologies, v1.37.
func (p *problems) topologies(terms []v1.TopologySelectorTerm, path *field.Path) {
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
				p.required(at.Index(j).Child("values"), "")
			}
			for k, value := range e.Values {
				if values[value] {
					p.duplicate(at.Index(j).Child("values").Index(k), value)
				}
				values[value] = true
			}
			p.qualifiedName(e.Key, at.Index(j).Child("key"))
			if _, again := raw[e.Key]; again {
				p.duplicate(at.Index(j).Child("key"), e.Key)
			}
			raw[e.Key] = values
		}
		for _, other := range seen {
			if reflect.DeepEqual(raw, other) {
				p.duplicate(at, "")
			}
		}
		seen = append(seen, raw)
	}
}

// attributesClass validates a VolumeAttributesClass.
// Upstream: storage/validation ValidateVolumeAttributesClass, v1.37.
func (p *problems) attributesClass(c *storagev1.VolumeAttributesClass) {
	p.provisioner(c.DriverName, field.NewPath("driverName"))
	p.parameters(c.Parameters, field.NewPath("parameters"))
	if len(c.Parameters) == 0 {
		p.required(field.NewPath("parameters"), "must contain at least one key/value pair")
	}
}

func (p *problems) attributesClassUpdate(c, old *storagev1.VolumeAttributesClass) {
	if c.DriverName != old.DriverName {
		p.forbidden(field.NewPath("driverName"), "updates to driverName are forbidden.")
	}
	if !reflect.DeepEqual(c.Parameters, old.Parameters) {
		p.forbidden(field.NewPath("parameters"), "updates to parameters are forbidden.")
	}
	p.attributesClass(c)
}
