package runtime

import (
	"path"
	"strings"
)

// imagePrograms returns the programs that an image is known to start with: one with the
// image's name, and those of the most common images. All that is known is that they run for
// ever.
func imagePrograms(image string) []string {
	name := path.Base(image)
	if at := strings.IndexAny(name, ":@"); at >= 0 {
		name = name[:at]
	}
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
