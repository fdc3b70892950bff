package disk

// Plant makes a symbolic link with any text, as something hostile would.
func Plant(d *Disk, text, link string) error { return d.symlink(text, link) }
