package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// get reads an answer of JSON, over a connection of its own, as what was at its end may have been killed since.
func get(ctx context.Context, target string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	request.Close = true
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %.200s", target, response.Status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	return nil
}
