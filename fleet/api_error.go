package fleet

import (
	"fmt"
	"net/http"
)

// APIError is an answer of fleet's API that reports a failure. Get at it with errors.As; IsUnitNotFound, IsConflict,
// IsInvalidRequest and IsTemporary tell its kind.
type APIError struct {
	// Method is the HTTP method: GET, PUT or DELETE.
	Method string
	// Path is the path asked for, without query, escapes decoded.
	Path string
	// Unit is the unit that the request was about, empty for a listing.
	Unit string
	// StatusCode is the answer's HTTP status.
	StatusCode int
	// Message is what the server says of it; fleet's 500s say nothing.
	Message string
}

// Error names the call, the status and, where there is one, the server's message.
func (e *APIError) Error() string {
	text := fmt.Sprintf("%s %s: %d", e.Method, e.Path, e.StatusCode)
	if status := http.StatusText(e.StatusCode); status != "" {
		text += " " + status
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap gives the classes that the answer belongs to.
func (e *APIError) Unwrap() []error {
	switch code := e.StatusCode; {
	case code == http.StatusNotFound && e.Unit != "":
		return []error{errUnitNotFound}
	case code == http.StatusConflict:
		return []error{errConflict}
	case code == http.StatusBadRequest, code == http.StatusUnsupportedMediaType, code == http.StatusRequestEntityTooLarge:
		return []error{errInvalidRequest}
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500 && code <= 599:
		return []error{errTemporary}
	default:
		return nil
	}
}
