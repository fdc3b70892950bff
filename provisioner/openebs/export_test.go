package openebs

// Provisioner is the provisioner without what New gives it, for tests of refusals.
type Provisioner = hostpathProvisioner
