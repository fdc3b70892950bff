package runtime

import (
	"path"
	"strings"
)

// imagePrograms are the programs that an image is known to start with: one that is called
// as the image is, and those of the images that are used most. Nothing is known of what
// they do but that they go on for ever.
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
