package fleet

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]error{"": io.ErrUnexpectedEOF, " \n": io.ErrUnexpectedEOF, "{": io.ErrUnexpectedEOF,
		`{"units":[{"name":"a`: io.ErrUnexpectedEOF, "null": errNoObject, "[]": errNoObject, "<html>": errNoObject, "\xff": errNoObject} {
		assert.ErrorIs(t, decode([]byte(text), &unitPage{}), want, text)
	}
	var page unitPage
	assert.Error(t, decode([]byte(`{"units":[{"name":"a"}],"nextPageTok`), &page))
	assert.Equal(t, unitPage{}, page, "nothing is stored that a repeat would find")
	assert.NoError(t, decode([]byte(" {} \n"), &unitPage{}))
	assert.ErrorContains(t, decode([]byte("{} x"), &unitPage{}), "more than one")
}

// fuzzAnswers feeds a client, over its whole path, one answer to whatever it asks: no input may make it panic, hang, or
// fail without a class.
func fuzzAnswers(f *testing.F, ask func(t *testing.T, client *Client) error, seeds ...string) {
	for _, seed := range seeds {
		f.Add(200, seed)
		f.Add(404, seed)
	}
	f.Add(500, "")
	f.Add(302, "<html>")
	f.Fuzz(func(t *testing.T, status int, text string) {
		if status < 200 || status > 599 {
			return
		}
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})), Config{Retries: -1, MaxBodySize: 1 << 20})
		if err := ask(t, client); err != nil {
			class := IsTemporary(err) || IsInvalidEndpoint(err) || IsUnitNotFound(err) || IsInvalidRequest(err) ||
				IsConflict(err) || IsInvalidUnitStatus(err)
			var answer *APIError
			assert.True(t, class || errors.As(err, &answer), "%v", err)
		}
	})
}

func FuzzUnitsPage(f *testing.F) {
	fuzzAnswers(f, func(t *testing.T, client *Client) error {
		listing, err := client.ReadUnits(t.Context(), Selector{})
		for i, unit := range listing.Units {
			require.NotEmpty(t, unit.Name)
			require.True(t, i == 0 || listing.Units[i-1].Name < unit.Name, "sorted, none twice")
		}
		return err
	}, `{}`, `{"units":[{"name":"a@b.c.service","options":[{"section":"X-Fleet","name":"Global","value":"true"}],"machineID":"m"}]}`,
		`{"units":[{"name":"a","options":[{"section":"X-Fleet","name":"MachineMetadata","value":"\"a=%i\" \"b\""}]}],
		"states":[{"name":"a","machineID":"m"}],"machines":[{"id":"m","primaryIP":"::1","metadata":{"a":"b"}}]}`, `{"nextPageToken":"x"}`)
}

func FuzzStatesPage(f *testing.F) {
	fuzzAnswers(f, func(t *testing.T, client *Client) error {
		_, err := client.readPages(t.Context(), pageList{resource: "state", take: newCollector(Selector{}).statePage})
		return err
	}, `{"states":[{"name":"a","machineID":"m","hash":"h","systemdActiveState":"active"},null]}`, `{"states":{}}`)
}

func FuzzMachinesPage(f *testing.F) {
	fuzzAnswers(f, func(t *testing.T, client *Client) error {
		_, err := client.ReadMachines(t.Context())
		return err
	}, `{"machines":[{"id":"m","primaryIP":"10.0.0.1","metadata":{"a":"b"}}]}`, `{"machines":[{"metadata":[]}]}`)
}

func FuzzUnit(f *testing.F) {
	fuzzAnswers(f, func(t *testing.T, client *Client) error {
		status, err := client.GetStatus(t.Context(), "a.service")
		if err == nil {
			require.Equal(t, "a.service", status.Name)
		}
		return err
	}, `{"name":"a.service","options":[{"section":"S","name":"N","value":"V"}],"currentState":"loaded"}`, `{"name":"b"}`)
}

func FuzzErrorBody(f *testing.F) {
	fuzzAnswers(f, func(t *testing.T, client *Client) error {
		return client.Start(t.Context(), "a.service")
	}, `{"error":{"code":409,"message":"x"}}`, `{"error":"x"}`, `{"error":null}`, `{"error":{"code":"x"}}`)
}
