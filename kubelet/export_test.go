package kubelet

import "fmt"

// BrokenWorker returns the first sentence about the fields of podWorker that does not hold for a pod of the kubelet that a server has, "" if all hold.
func BrokenWorker(s *Server) string {
	if s.kubelet == nil {
		return ""
	}
	for uid, w := range s.kubelet.workers {
		for says, holds := range map[string]bool{
			"it is the worker of its pod":                   w.uid == uid && (w.pod == nil || w.pod.UID == uid),
			"a pod that was only found on disk is gone":     w.pod != nil || w.gone,
			"only a pod that is known is considered":        w.pod != nil || !w.considered && !w.rejected,
			"only a pod that is known has directories":      w.pod != nil || !w.hasDirs,
			"a pod that is removed is stopped and released": !w.removed || w.stopped && w.released,
			"free is made before a worker is busy":          !w.busy || w.free != nil,
			"news is never nil":                             w.news != nil,
			"restarts of all containers have a time":        (w.restartsOfAll > 0) == !w.restartedAll.IsZero(),
			"what is written was made":                      w.written == nil || w.status != nil,
		} {
			if !holds {
				return fmt.Sprintf("pod %s: %s", uid, says)
			}
		}
	}
	return ""
}

// ParseEnv returns what a text assigns to a variable, as parseEnv does.
func ParseEnv(text, key string) (string, error) { return parseEnv(text, key) }
