package rest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that sends something when the server has closed the connection loses nothing of what was written before.
func TestAClientGetsAllThatWasWrittenBeforeItsConnectionWasClosed(t *testing.T) {
	written := make([]byte, 70_000)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.(*net.TCPConn).SetReadBuffer(4096))
	served, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, served.(*net.TCPConn).SetWriteBuffer(len(written)))
	conn := &lingering{Conn: served}
	_, err = conn.Write(written)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, conn.SetDeadline(time.Now().Add(-time.Hour)), "it has its own")
	_, err = client.Write([]byte("ping"))
	require.NoError(t, err)
	read, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Len(t, read, len(written))
	require.NoError(t, client.Close())
	ping, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "ping", string(ping))
	require.NoError(t, conn.Close())
	require.ErrorIs(t, conn.Close(), net.ErrClosed)
}
