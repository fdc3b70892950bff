// Package address has the first room of the API server. An [Address] says which object a request is about and what is to become of it. Its
// methods check that it says so, take what a client sends for the object, compare a client's preconditions with the stored object, and make
// the errors that name the object. Nothing is stored here.
package address
