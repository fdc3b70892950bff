package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a request may take.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second
	longestRequest = time.Hour
	idleTimeout    = 2 * time.Minute
	maxHeader      = 64 << 10
)

// admit lets requests with the token pass. All others are answered with 401.
// Upstream: apiserver endpoints/filters withAuthentication, v1.37.
func admit(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("Connection", "close") // and do not wait for a body
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
			refuse(w, metav1.Status{Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized, Message: "Unauthorized"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers with a Status.
func refuse(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status = metav1.StatusFailure
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // the client has gone
}

// limit ends requests that take longer than usual; those that may last, after an hour. What a client does not read within bodyTimeout after
// that is lost.
func limit(usual time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within, write := usual, time.Now().Add(usual+bodyTimeout)
		if isLong(r) {
			within, write = longestRequest, time.Time{}
		}
		connection := http.NewResponseController(w)
		_ = connection.SetWriteDeadline(write)
		_ = connection.SetReadDeadline(readDeadline(r))
		ctx, cancel := context.WithTimeout(r.Context(), within)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// readDeadline returns the time by which the body must have arrived. The connection of a request
// without a body is read only to see when the client goes.
func readDeadline(r *http.Request) time.Time {
	if r.ContentLength == 0 || r.Header.Get("Upgrade") != "" {
		return time.Time{}
	}
	return time.Now().Add(bodyTimeout)
}

// isLong reports whether a request may last: a watch, a log that is followed, a command in a
// container, or one that lets time pass.
// Upstream: apiserver server/filters BasicLongRunningRequestCheck, v1.37.
func isLong(r *http.Request) bool {
	query := r.URL.Query()
	return query.Get("watch") != "" || query.Get("follow") != "" || strings.Contains(r.URL.Path, "/watch/") ||
		strings.HasSuffix(r.URL.Path, "/exec") || strings.HasPrefix(r.URL.Path, controlPath)
}
