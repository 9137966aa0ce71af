package fleettest

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
)

const (
	defaultPageLimit = 100
	maxPageLimit     = 1<<16 - 1
)

// pageOf gives the number of the page that a query asks for, from 1.
func pageOf(query url.Values, limit int) (int, error) {
	tokens := query["nextPageToken"]
	switch len(tokens) {
	case 0:
		return 1, nil
	case 1:
	default:
		return 0, errors.New("too many values for page token")
	}
	raw, err := base64.URLEncoding.DecodeString(tokens[0])
	if err != nil {
		return 0, err
	}
	if len(raw) == 0 {
		return 0, errors.New("EOF")
	}
	if len(raw) < 4 {
		return 0, errors.New("unexpected EOF")
	}
	if got := int(binary.LittleEndian.Uint16(raw)); got != limit {
		return 0, fmt.Errorf("token limit must be %d", limit)
	}
	page := int(binary.LittleEndian.Uint16(raw[2:]))
	if page == 0 {
		return 0, errors.New("token page must be greater than zero")
	}
	return page, nil
}

// pageToken is where a page is to be found: its number, and how many entries pages have.
func pageToken(page, limit int) string {
	raw := binary.LittleEndian.AppendUint16(nil, uint16(limit))
	raw = binary.LittleEndian.AppendUint16(raw, uint16(page))
	return base64.URLEncoding.EncodeToString(raw)
}

// cutPage cuts one page from a whole list, and gives the next page's token. A page that is just full has a next one,
// which may be empty.
func cutPage[T any](all []T, page, limit int) (items []T, next string) {
	start, stop := (page-1)*limit, page*limit
	if start >= len(all) {
		return nil, ""
	}
	if stop > len(all) {
		return all[start:], ""
	}
	return all[start:stop], pageToken(page+1, limit)
}
