// Package names makes the UIDs of objects and the names that clients let the server make. Begin at [Namer].
package names

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Namer makes UIDs and names, from the seed of the server.
type Namer struct{ Seed uint64 }

// Digest returns 32 bytes that depend on the seed and the parts. Names are drawn
// from it and not from a stream of random numbers, so that an object's UID does
// not depend on what else was created before it: whatever the order in which
// controllers run, one seed gives one object one UID.
func (g Namer) Digest(n uint64, parts ...string) [32]byte {
	buf := make([]byte, 0, 128)
	buf = binary.BigEndian.AppendUint64(buf, g.Seed)
	buf = binary.BigEndian.AppendUint64(buf, n)
	for _, part := range parts {
		buf = append(append(buf, part...), 0)
	}
	return sha256.Sum256(buf)
}

// UID returns the UID of an object about to be created, in the form of a version 4 UUID. removed is the number of objects of the resource that
// were removed before: an object that is created again gets another UID, since its earlier life is among them.
func (g Namer) UID(resource schema.GroupResource, key string, removed uint64) types.UID {
	sum := g.Digest(removed, "uid", resource.Group, resource.Resource, key)
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return types.UID(text[:])
}

// Upstream: names.SimpleNameGenerator and apimachinery's util/rand, v1.37: no
// vowels and nothing that looks like another character.
const (
	nameAlphabet      = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength      = 5
	maxGeneratedName  = 63
	generateNameTries = 8
)

// Generate makes an unused name of base and five characters. created is the number of objects of the resource that were created before.
func (g Namer) Generate(resource, namespace, base string, created uint64, taken func(name string) bool) string {
	if len(base) > maxGeneratedName-suffixLength {
		base = base[:maxGeneratedName-suffixLength]
	}
	var name string
	for try := uint64(0); try < generateNameTries; try++ {
		sum := g.Digest(created<<8|try, "name", resource, namespace, base)
		suffix := sum[:suffixLength]
		for i, b := range suffix {
			suffix[i] = nameAlphabet[int(b)%len(nameAlphabet)]
		}
		name = base + string(suffix)
		if !taken(name) {
			break
		}
	}
	return name
}
