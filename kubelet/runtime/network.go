package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

// allocateIP returns the lowest free address of the node's pod network.
func (s *Containers) allocateIP() (string, error) {
	base, _, _ := strings.Cut(s.client.PodCIDR, "/")
	prefix := base[:strings.LastIndexByte(base, '.')+1]
	for host := 2; host < 255; host++ {
		ip := prefix + strconv.Itoa(host)
		if _, taken := s.taken[ip]; !taken {
			return ip, nil
		}
	}
	return "", fmt.Errorf("no address is free in %s", s.client.PodCIDR)
}
