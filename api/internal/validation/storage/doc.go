// Package storage says what is wrong with claims, volumes, their classes and attachments, the objects of CSI drivers, and
// the sources of volumes, which pods name too.
package storage
