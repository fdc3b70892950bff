package runtime

import (
	"path"
	"strings"
)

// agnhost is the image of Kubernetes' own tests, and its program, which takes the arguments of a container without a command.
const agnhost = "agnhost"

// nameOf returns the name of an image without its registry, repository, tag and digest.
func nameOf(image string) string {
	name := path.Base(image)
	if at := strings.IndexAny(name, ":@"); at >= 0 {
		name = name[:at]
	}
	return name
}

// entrypoint returns the command that an image is said or known to start with; nil if it is not.
func (s *Containers) entrypoint(image string) []string {
	if command := s.cfg.Entrypoints[image]; command != nil {
		return command
	}
	name, _, _ := strings.Cut(image, "@")
	dir, base := path.Split(name)
	base, _, _ = strings.Cut(base, ":")
	if command := s.cfg.Entrypoints[dir+base]; command != nil || base != agnhost {
		return command
	}
	return []string{"/" + agnhost}
}

// imagePrograms returns the programs that an image is known to start with: one with the
// image's name, and those of the most common images. All that is known is that they run for
// ever.
func imagePrograms(image string) []string {
	name := nameOf(image)
	list := []string{name, "/" + name}
	switch name {
	case "nginx", "mongo", "mysql", "mariadb", "postgres", "redis", "memcached", "cassandra", "rabbitmq":
		list = append(list, "docker-entrypoint.sh")
	}
	switch name {
	case "httpd":
		list = append(list, "httpd-foreground")
	case "mongo":
		list = append(list, "mongod")
	case "mysql":
		list = append(list, "mysqld")
	case "mariadb":
		list = append(list, "mariadbd", "mysqld")
	case "redis":
		list = append(list, "redis-server")
	case "rabbitmq":
		list = append(list, "rabbitmq-server")
	case "busybox": // whose program needs the name of another
		return nil
	}
	return list
}

// RunsAsRoot reports whether it is known of an image that it starts as root, as the official images of distributions, languages and
// databases do. An image of another registry or repository has a maker of its own, and may have another user.
func RunsAsRoot(image string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
	if at := strings.IndexAny(name, ":@"); at >= 0 {
		name = name[:at]
	}
	switch name {
	case "busybox", "alpine", "debian", "ubuntu", "fedora", "rockylinux", "almalinux", "nginx", "httpd", "mongo", "mysql", "mariadb", "postgres",
		"redis", "rabbitmq", "python", "node", "golang", "ruby", "php", "perl", "wordpress":
		return true
	}
	return false
}
