//go:build !js && !wasip1

package main

// Rules of custom kinds are evaluated; in a browser size counts for more.
import _ "github.com/storagesim/storagesim/api/crd/cel"
