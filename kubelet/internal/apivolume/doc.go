// Package apivolume is the volume plugins whose files come from the API: configMap,
// secret, downwardAPI and projected, which joins the others in one directory.
//
// Each is a directory of links, changed all at once (AtomicWriter): a container
// that reads through one path sees all of the old files or all of the new ones.
//
//	config/app.conf                         -> ..data/app.conf
//	config/..data                           -> ..2026_01_02_03_04_05.1
//	config/..2026_01_02_03_04_05.1/app.conf    the content
//
// Their SetUp is called again and again (RequiresRemount): when the pod changes and
// once a minute, so that a change in the API reaches a running pod.
//
// Upstream: pkg/volume/configmap, secret, downwardapi, projected, and
// pkg/volume/util/atomic_writer.go, v1.37.
//
// Deviations:
//
//   - All four are ordinary directories; upstream has tmpfs for all but configMap.
//   - ConfigMaps and Secrets are read live, as upstream does with
//     configMapAndSecretChangeDetectionStrategy Get; its default is a watch, whose words
//     for what is not there these are.
//   - A failed write to a volume that a pod has keeps what is there. Upstream tears the
//     volume down, under the pod's containers, and makes it again with the next try.
//   - A serviceAccountToken is a fixed text that is no token, whatever its audience. Where there is no ConfigMap kube-root-ca.crt, which a controller
//     publishes in every namespace of a real cluster, a volume that names it gets a
//     ca.crt that is no certificate.
//   - A field that the downward API does not know here is refused by name.
//   - The directory of a change is numbered where upstream's has a random suffix.
package apivolume
