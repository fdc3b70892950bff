package prose

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAWrongWordGetsTheNearestOneAndTheListInOneForm(t *testing.T) {
	verbs := []string{"mount", "run", "unmount"}
	for word, want := range map[string]string{
		"rnu":    ` (did you mean "run"?); expected one of mount, run, unmount`,
		"umount": ` (did you mean "unmount"?); expected one of mount, run, unmount`,
		"MOUNT":  ` (did you mean "mount"?); expected one of mount, run, unmount`,
		"":       `; expected one of mount, run, unmount`,
		"xyzzy":  `; expected one of mount, run, unmount`,
	} {
		assert.Equal(t, want, OneOf(word, verbs), word)
	}
	assert.Equal(t, ` (did you mean "node-1"?); expected node-1`, OneOf("node-2", []string{"node-1"}))
	assert.Equal(t, "; there are none", OneOf("x", []string(nil)))
}

func TestANameThatIsTheSameAfterItsSlashIsNearest(t *testing.T) {
	assert.Equal(t, ` (did you mean "kubelet/node-1"?)`, DidYouMean("node/node-1", []string{"node/node-2", "kubelet/node-1"}))
	assert.Equal(t, ` (did you mean "kubelet/node-1"?)`, DidYouMean("node-1", []string{"node", "kubelet/node-1"}))
}

func TestAWordThatIsShortForAnotherMeansThat(t *testing.T) {
	kinds := []string{"Pod", "PersistentVolume", "PersistentVolumeClaim", "Deployment"}
	assert.Equal(t, ` (did you mean "PersistentVolumeClaim"?)`, DidYouMean("PVC", kinds))
	assert.Equal(t, ` (did you mean "PersistentVolume"?)`, DidYouMean("pv", kinds))
	assert.Equal(t, ` (did you mean "Pod"?)`, DidYouMean("Pd", kinds))
}
