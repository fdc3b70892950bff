package workload

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
)

// ComputeHash returns the hash of a template of pods, the value of the label pod-template-hash. collisions, unless it is nil, is the number of
// ReplicaSets of other templates that have had the same hash.
// Upstream: controller_utils.go ComputeHash, v1.37.
func ComputeHash(template *v1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	hash.Write([]byte(dump.ForHash(*template)))
	if collisions != nil {
		var bytes [8]byte
		binary.LittleEndian.PutUint32(bytes[:], uint32(*collisions))
		hash.Write(bytes[:])
	}
	return SafeEncode(hash.Sum32())
}

// SafeEncode writes a number with letters that make no bad words.
// Upstream: apimachinery util/rand SafeEncodeString, v1.37.
func SafeEncode(n uint32) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	text := []byte(strconv.FormatUint(uint64(n), 10))
	for i, digit := range text {
		text[i] = alphabet[int(digit)%len(alphabet)]
	}
	return string(text)
}
