package api

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/storagesim/storagesim/internal/release"
)

// Version returns the server's version, by which programs decide what they may use.
func (s *Server) Version() *version.Info {
	v := utilversion.MustParseSemantic(release.Kubernetes)
	major, minor := strconv.FormatUint(uint64(v.Major()), 10), strconv.FormatUint(uint64(v.Minor()), 10)
	return &version.Info{
		Major: major, Minor: minor, EmulationMajor: major, EmulationMinor: minor,
		MinCompatibilityMajor: major, MinCompatibilityMinor: strconv.FormatUint(uint64(v.Minor()-1), 10),
		GitVersion: release.Kubernetes, GitTreeState: "clean",
	}
}

// Resources returns every resource of every group, in order, as discovery does.
func (s *Server) Resources() []*metav1.APIResourceList { return s.tables.registry.ResourceLists() }
