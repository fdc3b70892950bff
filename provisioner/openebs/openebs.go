package openebs

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/internal/helperpod"
	"github.com/storagesim/storagesim/trace"
)

const (
	// ProvisionerName is the name of this provisioner in classes.
	ProvisionerName = "openebs.io/local"
	// DefaultNamespace is the namespace of helper pods.
	DefaultNamespace = "openebs"
	// DefaultBasePath is the directory under which volumes are made on every
	// node unless the class says otherwise.
	DefaultBasePath = "/var/openebs/local"
	// DefaultHelperImage is the image of helper pods.
	DefaultHelperImage = "openebs/linux-utils:latest"
	// DefaultServiceAccount is the service account of helper pods.
	DefaultServiceAccount = "openebs-maya-operator"

	// defaultMode is the mode of a volume's directory.
	defaultMode = "0777"
)

// Config holds the settings that upstream reads from its environment. The zero value works.
type Config struct {
	// Namespace of the helper pods, OPENEBS_NAMESPACE; default
	// DefaultNamespace. It must exist.
	Namespace string
	// HelperImage is the image of helper pods, OPENEBS_IO_HELPER_IMAGE; default
	// DefaultHelperImage.
	HelperImage string
	// BasePath is the directory volumes are made under where the class does not
	// set BasePath, OPENEBS_IO_BASE_PATH; absolute; default DefaultBasePath.
	BasePath string
	// ServiceAccount of the helper pods, OPENEBS_SERVICE_ACCOUNT; default
	// DefaultServiceAccount. It must exist.
	ServiceAccount string
	// ImagePullSecrets of the helper pods, OPENEBS_IO_IMAGE_PULL_SECRETS;
	// default none.
	ImagePullSecrets []string
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&c.Namespace, DefaultNamespace},
		{&c.HelperImage, DefaultHelperImage},
		{&c.BasePath, DefaultBasePath},
		{&c.ServiceAccount, DefaultServiceAccount},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if wrong := validation.IsDNS1123Label(c.Namespace); len(wrong) > 0 {
		return c, fmt.Errorf("openebs.Config.Namespace %q: %s", c.Namespace, wrong[0])
	}
	if _, err := volumePath(c.BasePath, "pvc"); err != nil {
		return c, fmt.Errorf("openebs.Config.BasePath: %w", err)
	}
	return c, nil
}

// hostpathProvisioner makes hostpath volumes. It keeps nothing in memory.
//
// Upstream: cmd/provisioner-localpv/app/types.go Provisioner.
type hostpathProvisioner struct {
	cfg    Config
	client kubernetes.Interface
	clock  control.Clock
	trace  func(trace.Record)
}

var (
	_ provisioner.Provisioner      = (*hostpathProvisioner)(nil)
	_ provisioner.BlockProvisioner = (*hostpathProvisioner)(nil)
)

// Controller returns OpenEBS' provisioner of local hostpath volumes, "openebs.io/local", for Cluster.AddProvisionController. The
// namespace of its helper pods and their service account are created if they are missing. Its storage classes are yours to apply.
func Controller(cfg Config) provisioner.Config {
	return provisioner.Config{
		Name: ProvisionerName,
		New:  New(cfg),
		Setup: func(ctx context.Context, client kubernetes.Interface) error {
			namespace := cmp.Or(cfg.Namespace, DefaultNamespace)
			if err := helperpod.CreateNamespace(ctx, client, namespace); err != nil {
				return err
			}
			return helperpod.CreateAccount(ctx, client, namespace, cmp.Or(cfg.ServiceAccount, DefaultServiceAccount))
		},
	}
}

// New returns a function for provisioner.Config.New, which makes the provisioner each time its
// actor starts. The error of that function says what is wrong with cfg.
func New(cfg Config) func(env control.Env) (provisioner.Provisioner, error) {
	return func(env control.Env) (provisioner.Provisioner, error) {
		cfg, err := cfg.checked()
		if err != nil {
			return nil, err
		}
		return &hostpathProvisioner{cfg: cfg, client: env.Client(), clock: env, trace: env.Trace}, nil
	}
}

// SupportsBlock implements provisioner.BlockProvisioner. It is true, as
// upstream's, for the sake of device volumes; Provision then refuses block mode
// for hostpath ones.
func (p *hostpathProvisioner) SupportsBlock(context.Context) bool { return true }

// hostname returns the value of the node's hostname label.
func hostname(node *v1.Node) string { return node.Labels[v1.LabelHostname] }
