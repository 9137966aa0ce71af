package units

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	// maxContents bounds how many contents are remembered: some thousand stacks of a few units each.
	maxContents = 16384
	// contentsAtOnce is how many contents are read side by side.
	contentsAtOnce = 8
)

// contents reads the contents of units, each distinct one once: what has a hash never changes.
type contents struct {
	reader fleet.ContentReader
	mutex  sync.Mutex
	byHash map[string][]option
}

func newContents(reader fleet.ContentReader) *contents {
	return &contents{reader: reader, byHash: map[string][]option{}}
}

// errChanged is that a unit is no longer what a look has shown.
var errChanged = errors.New("the unit has changed since the look")

// of gives the options of each unit by its hash.
func (c *contents) of(ctx context.Context, details []fleet.UnitDetail) (map[string][]option, error) {
	found := map[string][]option{}
	unknown := map[string]fleet.UnitDetail{}
	c.mutex.Lock()
	for _, detail := range details {
		if options, known := c.byHash[detail.Hash]; known {
			found[detail.Hash] = options
		} else {
			unknown[detail.Hash] = detail
		}
	}
	c.mutex.Unlock()

	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(contentsAtOnce)
	for hash, detail := range unknown {
		group.Go(func() error {
			options, err := c.read(ctx, detail)
			if fleet.IsUnitNotFound(err) {
				err = errChanged
			}
			if err != nil {
				return errmask.Maskf(err, "read the content of %s", detail.Name)
			}
			mutex.Lock()
			defer mutex.Unlock()
			found[hash] = options
			return nil
		})
	}
	return found, group.Wait()
}

// read reads the content that a look has shown, and refuses another one than that.
func (c *contents) read(ctx context.Context, seen fleet.UnitDetail) ([]option, error) {
	text, err := c.reader.ReadContent(ctx, seen.Name)
	if err != nil {
		return nil, err
	}
	hash, err := fleet.UnitHash(text)
	if err != nil {
		return nil, err
	}
	if hash != seen.Hash {
		return nil, errChanged
	}
	options, err := optionsOf(text)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.byHash) >= maxContents {
		clear(c.byHash) // what is still needed is read again
	}
	c.byHash[hash] = options
	return options, nil
}
