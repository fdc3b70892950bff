// Package sidecar has the parts that the CSI sidecars share: they meet their driver when they start (Meet),
// translate access modes of Kubernetes to CSI's (AccessMode), read secrets (Credentials), and check their
// configuration (Common, Check).
//
// It models kubernetes-csi/csi-lib-utils v0.25 as the sidecars use it.
//
// # Meeting the driver
//
// Before its controller works on anything, a sidecar calls Probe until the driver is
// ready, then GetPluginInfo, GetPluginCapabilities and, if the driver has a controller
// service, ControllerGetCapabilities. If one of these fails, the sidecar's program ends
// and its container is started again, at once and then after 10 s, 20 s, 40 s and so on
// up to 5 minutes. Meet does the same without ending the actor: at that point it has no
// state that could be lost. Waiting is background time: a driver that never becomes
// ready leaves the cluster at rest.
//
// # Deviations from upstream
//
//   - A sidecar gets the name of its driver, and does not start while the driver answers another name. Upstream's
//     takes any name, which then matches no class.
//   - There is no leader election: a driver has one set of sidecars.
package sidecar
