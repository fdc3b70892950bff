package wasi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
	"k8s.io/client-go/rest"

	"github.com/storagesim/storagesim"
)

// program is a compiled program. It is run by one host at a time.
type program struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	host    *host
}

// compile compiles a program for wasip1.
func compile(t *testing.T, binary []byte) *program {
	p := &program{runtime: wazero.NewRuntime(t.Context())}
	wasi_snapshot_preview1.MustInstantiate(t.Context(), p.runtime)
	functions := p.runtime.NewHostModuleBuilder("storagesim")
	functions.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, at, size uint32) uint32 {
		request, _ := m.Memory().Read(at, size)
		return p.host.send(bytes.Clone(request))
	}).Export("send")
	functions.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, at, size uint32) uint32 {
		piece := p.host.piece(int(size))
		m.Memory().Write(at, piece)
		return uint32(len(piece))
	}).Export("receive")
	_, err := functions.Instantiate(t.Context())
	require.NoError(t, err)
	p.module, err = p.runtime.CompileModule(t.Context(), binary)
	require.NoError(t, err)
	return p
}

// play runs the program beside a cluster until it ends, and has user do something at the first
// moment a second after the start. It returns the story.
func (p *program) play(t *testing.T, seed uint64, user func(c *storagesim.Cluster) error) (story string) {
	synctest.Test(t, func(t *testing.T) {
		c, err := storagesim.New(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks, NoNodes: true})
		require.NoError(t, err)
		defer c.Close()
		transport, err := rest.TransportFor(c.RESTConfig("labeller"))
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		p.host = &host{transport: transport, ctx: ctx}
		start, waits := c.Now(), true
		_, err = p.runtime.InstantiateModule(ctx, p.module, wazero.NewModuleConfig().WithName("").WithArgs("labeller").WithStderr(os.Stderr).
			WithRandSource(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})).
			WithWalltime(func() (int64, int32) { return c.Now().Unix(), int32(c.Now().Nanosecond()) }, sys.ClockResolution(1)).
			WithNanotime(func() int64 { return int64(c.Now().Sub(start)) + 1 }, sys.ClockResolution(1)).
			WithNanosleep(func(ns int64) {
				synctest.Wait() // until all requests are answered as far as they are
				require.NoError(t, c.RunFor(time.Duration(ns)))
				if waits && c.Now().Sub(start) >= time.Second {
					waits = false
					require.NoError(t, user(c))
				}
			}))
		require.NoError(t, err)
		end()
		synctest.Wait()
		story = c.Story()
	})
	return story
}

// host answers the requests of one run.
type host struct {
	transport http.RoundTripper
	ctx       context.Context // of all requests
	last      uint32

	mu     sync.Mutex
	pieces [][]byte
}

// send begins a request. What is answered when is the cluster's doing: the program sees it only
// when nothing in this process can go on any more (piece).
func (h *host) send(text []byte) (number uint32) {
	h.last++
	number = h.last
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		panic(err) // the program's transport wrote it
	}
	req.RequestURI, req.URL.Scheme, req.URL.Host = "", "http", req.Host
	go func() {
		defer h.add(number, true, nil)
		resp, err := h.transport.RoundTrip(req.WithContext(h.ctx))
		if err != nil {
			return
		}
		defer resp.Body.Close()
		to := writer(func(text []byte) { h.add(number, false, text) })
		fmt.Fprintf(to, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n\r\n", resp.StatusCode, http.StatusText(resp.StatusCode), resp.Header.Get("Content-Type"))
		_, _ = io.Copy(to, resp.Body) // a watch ends with the run
	}()
	return number
}

type writer func(text []byte)

func (w writer) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

func (h *host) add(number uint32, ends bool, text []byte) {
	piece := binary.LittleEndian.AppendUint32(nil, number)
	piece = append(piece, 0)
	if ends {
		piece[4] = 1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pieces = append(h.pieces, append(piece, text...))
}

// piece returns the next piece of a response, nil at its end.
func (h *host) piece(most int) []byte {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pieces) == 0 {
		return nil
	}
	piece := h.pieces[0]
	if len(piece) > most {
		panic("a piece of a response is too long") // io.Copy's are of 32 KiB
	}
	h.pieces = h.pieces[1:]
	return piece
}
