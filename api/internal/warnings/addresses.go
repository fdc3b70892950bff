package warnings

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// ofIP returns the warnings for an address in a form that will be refused some day. One that is none has no warnings: of such a value the
// library writes into the program's log.
func ofIP(at *field.Path, value string) []string {
	if netutils.ParseIPSloppy(value) == nil {
		return nil
	}
	return validation.GetWarningsForIP(at, value)
}

// ofCIDR returns the warnings for a range of addresses, as ofIP does.
func ofCIDR(at *field.Path, value string) []string {
	if _, _, err := netutils.ParseCIDRSloppy(value); err != nil {
		return nil
	}
	return validation.GetWarningsForCIDR(at, value)
}
