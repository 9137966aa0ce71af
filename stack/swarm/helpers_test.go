package swarm_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/squadronctl/squadron/capability"
)

func encoded(text string) string { return base64.URLEncoding.EncodeToString([]byte(text)) }

// capabilityHold keeps what is handed over.
func capabilityHold(t *testing.T, held *[]func() error) capability.DeferSelf {
	return func(apply func(context.Context) error) {
		*held = append(*held, func() error { return apply(t.Context()) })
	}
}
