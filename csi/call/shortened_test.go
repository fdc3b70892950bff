package call

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What is short enough stays the very error, whatever it is.
func TestOnlyALongErrorIsMadeAnew(t *testing.T) {
	for _, err := range []error{nil, errors.New("it is ill"), status.Error(codes.Aborted, strings.Repeat("x", maxMessage))} {
		require.Equal(t, err, shortened(err))
	}
	long := shortened(status.Error(codes.Aborted, strings.Repeat("x", maxMessage+1)))
	require.Equal(t, codes.Aborted, status.Code(long))
	require.Equal(t, strings.Repeat("x", maxMessage)+"... 1 bytes more", status.Convert(long).Message())
}
