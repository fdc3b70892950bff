package explore

import (
	"fmt"
	"strings"
)

// Unlisted says that what is left in the backends of WithoutInventory was not looked for, and what to write; "" if all
// have an Inventory.
func (r Report) Unlisted() string {
	if len(r.WithoutInventory) == 0 {
		return ""
	}
	return fmt.Sprintf(`what is left in the backend of %s was not looked for: it has no Inventory. For a provisioner these lines are enough:
	// Volumes returns the PVNames of all volumes that the backend holds.
	func (p *yours) Volumes(context.Context) ([]string, error) {
		var names []string
		for _, disk := range p.backend.List() {
			names = append(names, disk.PVName)
		}
		return names, nil
	}
A CSI driver sets csi.Driver.Inventory`, strings.Join(r.WithoutInventory, ", "))
}
