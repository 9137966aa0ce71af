package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// maxPages is where a listing without end is given up. fleet's pages have 100 entries.
const maxPages = 10000

// readPages reads a list page by page, each with its own repeats, and gives their number. take gets each page once and
// gives the token of the next.
func readPages[P any](ctx context.Context, c *Client, resource string, query url.Values, take func(P) string) (int, error) {
	seen := map[string]bool{}
	token := ""
	for pages := 1; ; pages++ {
		page, err := readPage[P](ctx, c, resource, query, token)
		if err != nil {
			return 0, err
		}
		token = take(page)
		if token == "" {
			return pages, nil
		}
		if seen[token] || pages >= maxPages {
			return 0, c.noFleet(fmt.Errorf("GET %s: the list has no end: page %d names one read before, or is one of too many",
				apiPath+resource, pages))
		}
		seen[token] = true
	}
}

func readPage[P any](ctx context.Context, c *Client, resource string, query url.Values, token string) (P, error) {
	values := url.Values{}
	for key, value := range query {
		values[key] = value
	}
	if token != "" {
		values.Set("nextPageToken", token)
	}
	var page P
	err := c.do(ctx, request{
		method:   http.MethodGet,
		resource: resource,
		query:    values,
		success:  []int{http.StatusOK},
		take:     func(body []byte) error { return decode(body, &page) },
	})
	return page, err
}
