package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Call sends one request of fleet's API. A body is sent as JSON; what is answered is read into answer where that is not
// nil. Any status from 300 on is an error.
func Call(ctx context.Context, client *http.Client, method, target string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s %s: %s: %s", method, target, response.Status, text)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// option is one line of a unit file, as the API has it.
type option struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

// Put makes a unit that runs exec, with the desired state given, past the library.
func (o *Observer) Put(ctx context.Context, name, desired, exec string) error {
	return o.call(ctx, http.MethodPut, name, map[string]any{
		"name": name, "desiredState": desired, "options": []option{{"Service", "ExecStart", exec}},
	})
}

// Delete removes a unit past the library.
func (o *Observer) Delete(ctx context.Context, name string) error {
	return o.call(ctx, http.MethodDelete, name, nil)
}

func (o *Observer) call(ctx context.Context, method, name string, body any) error {
	endpoint := o.endpoint()
	return Call(ctx, o.http, method, endpoint.String()+"/fleet/v1/units/"+url.PathEscape(name), body, nil)
}

// DeleteAll removes, when the test ends, all units whose names begin with prefix, so that the cluster is free for others.
func (o *Observer) DeleteAll(t testing.TB, prefix string) {
	t.Cleanup(func() {
		for _, unit := range o.Now(t).Named(prefix) {
			require.NoError(t, o.Delete(context.Background(), unit.Name))
		}
	})
}

// Named gives the units whose names begin with prefix, sorted.
func (s Snapshot) Named(prefix string) []Unit {
	var units []Unit
	for name, unit := range s.Units {
		if strings.HasPrefix(name, prefix) {
			units = append(units, unit)
		}
	}
	slices.SortFunc(units, func(a, b Unit) int { return strings.Compare(a.Name, b.Name) })
	return units
}

// StatesLeft gives the names, beginning with prefix, of the units of which a machine has a state listed: some of them may
// have been destroyed.
func (o *Observer) StatesLeft(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	err := o.pages(ctx, o.endpoint(), "state", nothing, func(page page) {
		for _, state := range page.States {
			if strings.HasPrefix(state.Name, prefix) {
				names = append(names, state.Name)
			}
		}
	})
	return names, err
}

// Runs says whether the unit's ExecStart is exec.
func (u Unit) Runs(exec string) bool {
	var options []option
	return json.Unmarshal([]byte(u.Options), &options) == nil && slices.Contains(options, option{"Service", "ExecStart", exec})
}
