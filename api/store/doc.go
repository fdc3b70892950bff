// Package store keeps versioned objects, whatever their kinds: one counter of versions for all of them, a [Table] a resource with its
// objects in order of key, and a log of its changes. Begin at [Table.Put] and [Table.Remove], which append to the log and wake
// cursors; a [Cursor] reads the log from a position, [Table.Watch] is a watch over a cursor, and [Table.Page] a list, also of an
// older version. What differs between kinds is given: the fields to select by, and how a version shows an object ([Form]).
package store
