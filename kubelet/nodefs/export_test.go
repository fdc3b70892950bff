package nodefs

// Plant makes a symbolic link with any text, as something hostile would.
func Plant(d *Dir, text, link string) error { return d.symlink(text, link) }
