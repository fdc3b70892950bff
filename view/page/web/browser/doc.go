// Package browser tests the page of a story in chromium: that it opens from a file, plays by itself, follows keys, clicks and links,
// asks for nothing from elsewhere, and has a name for everything that can be used without seeing it.
//
// Pages come from the examples, run by the go command; a page with other values is one of those with its JSON replaced. Without
// chromium the tests fail, unless STORAGESIM_NO_BROWSER=1 says that there is none. With STORAGESIM_SHOTS=FOLDER they keep pictures there.
package browser
