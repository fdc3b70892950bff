//go:build wasip1

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"sync"
	"time"
	"unsafe"
)

// send gives the host an HTTP request and returns its number.
//
//go:wasmimport storagesim send
func send(request unsafe.Pointer, size uint32) (number uint32)

// receive writes a piece of a response, if there is one: the request's number in four bytes, a
// byte that is 1 at the end, and the text. It returns how many bytes that is.
//
//go:wasmimport storagesim receive
func receive(buffer unsafe.Pointer, size uint32) uint32

// transport sends requests to the host.
type transport struct {
	mu   sync.Mutex
	open map[uint32]*io.PipeWriter
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var text bytes.Buffer
	if err := req.Write(&text); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	t.mu.Lock()
	t.open[send(unsafe.Pointer(unsafe.SliceData(text.Bytes())), uint32(text.Len()))] = w
	t.mu.Unlock()
	return http.ReadResponse(bufio.NewReader(r), req)
}

// deliver gives responses to those who wait for them, for ever. The host is asked every ten
// milliseconds of virtual time.
func (t *transport) deliver() {
	buffer := make([]byte, 1<<20)
	for {
		size := receive(unsafe.Pointer(unsafe.SliceData(buffer)), uint32(len(buffer)))
		if size == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		number, ends := binary.LittleEndian.Uint32(buffer), buffer[4] == 1
		t.mu.Lock()
		w := t.open[number]
		if ends {
			delete(t.open, number)
		}
		t.mu.Unlock()
		if ends {
			w.Close()
			continue
		}
		_, _ = w.Write(bytes.Clone(buffer[5:size])) // a reader that is gone wants no more
	}
}
