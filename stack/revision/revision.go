// Package revision keeps the manifests that were deployed: stack.RevisionStore in a directory, and one in memory.
//
// A Directory may be used by several processes at once. What is in it can be read, compared and copied with ordinary tools:
//
//	DIRECTORY/OWNER/STACK/000000000001-1764460800000000000-8f43…9c.manifest
//
// Owner and stack stand there with % and two hexadecimal digits for each character that a file's name can't have. A revision's
// file is named by its number in the stack, by the moment at which it was recorded, in nanoseconds since 1970, and by the
// SHA-256 of its text, which is the manifest as it was deployed. All revisions are kept until DropRevisions.
package revision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// Directory is a stack.RevisionStore in a directory. Its methods look at the context before they begin, and wait for other
// writers of the same owner until it ends; an owner or a stack without a name, or one with too long a name, is an error.
type Directory struct {
	root string
}

var _ stack.RevisionStore = (*Directory)(nil)

// NewDirectory gives the store in a directory, which is made with the first revision. It touches nothing.
func NewDirectory(path string) (*Directory, error) {
	if path == "" {
		return nil, errors.New("revision store: the directory has no name")
	}
	full, err := filepath.Abs(path)
	return &Directory{root: full}, errmask.Maskf(err, "revision store")
}

// AddRevision implements stack.RevisionStore. The text and its name are on disk when it returns nil.
func (d *Directory) AddRevision(ctx context.Context, owner, stackName, manifest string) error {
	const operation = "record a revision of stack %.256q"
	dir, err := d.stackDir(owner, stackName)
	if err != nil {
		return errmask.Maskf(err, operation, stackName)
	}
	if found, err := readEntries(dir); err == nil && hasText(found, manifest) {
		// Whoever has written it may not have had it on disk yet.
		return errmask.Maskf(errors.Join(ctx.Err(), syncDirectory(dir)), operation, stackName)
	}
	err = d.locked(ctx, owner, func() error { return add(dir, manifest, time.Now()) })
	return errmask.Maskf(err, operation, stackName)
}

// add writes a revision that is not there yet. It is called with the owner's lock held.
func add(dir, manifest string, now time.Time) error {
	found, err := readEntries(dir)
	if err != nil {
		return err
	}
	if hasText(found, manifest) {
		return syncDirectory(dir)
	}
	next := entry{number: 1, time: now, sum: sumOf(manifest)}
	if len(found) > 0 {
		next.number = found[0].number + 1
	}
	if err := makeDirectory(dir); err != nil {
		return err
	}
	return writeFile(dir, next.fileName(), manifest)
}

// Revisions implements stack.RevisionStore.
func (d *Directory) Revisions(ctx context.Context, owner, stackName string) ([]stack.Revision, error) {
	const operation = "read the revisions of stack %.256q"
	dir, err := d.stackDir(owner, stackName)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	revisions, err := readRevisions(dir)
	if errors.Is(err, fs.ErrNotExist) {
		// The stack was dropped between the listing and the reading.
		revisions, err = readRevisions(dir)
	}
	return revisions, errmask.Maskf(err, operation, stackName)
}

func readRevisions(dir string) ([]stack.Revision, error) {
	found, err := readEntries(dir)
	if err != nil {
		return nil, err
	}
	revisions := make([]stack.Revision, 0, len(found))
	for _, entry := range found {
		text, err := os.ReadFile(filepath.Join(dir, entry.fileName()))
		if err != nil {
			return nil, err
		}
		if sumOf(string(text)) != entry.sum {
			return nil, fmt.Errorf("%s is damaged: its text is not the one that it is named by", filepath.Join(dir, entry.fileName()))
		}
		revisions = append(revisions, stack.Revision{
			ID: strconv.FormatUint(entry.number, 10), Time: entry.time, Manifest: string(text),
		})
	}
	return revisions, nil
}

// Stacks implements stack.RevisionStore.
func (d *Directory) Stacks(ctx context.Context, owner string) ([]string, error) {
	const operation = "list the stacks of owner %.256q"
	dir, err := d.ownerDir(owner)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errmask.Maskf(err, operation, owner)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errmask.Maskf(err, operation, owner)
	}
	stacks := []string{}
	for _, entry := range entries {
		if isHidden(entry.Name()) {
			continue
		}
		name, err := unescape(entry.Name())
		if err != nil {
			return nil, errmask.Maskf(err, operation, owner)
		}
		found, err := readEntries(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, errmask.Maskf(err, operation, owner)
		}
		if len(found) > 0 {
			stacks = append(stacks, name)
		}
	}
	slices.Sort(stacks)
	return stacks, nil
}

// DropRevisions implements stack.RevisionStore. A stack's revisions go all at once.
func (d *Directory) DropRevisions(ctx context.Context, owner, stackName string) error {
	const operation = "drop the revisions of stack %.256q"
	dir, err := d.stackDir(owner, stackName)
	if err != nil {
		return errmask.Maskf(err, operation, stackName)
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return errmask.Maskf(ctx.Err(), operation, stackName)
	}
	err = d.locked(ctx, owner, func() error { return removeDirectory(dir) })
	return errmask.Maskf(err, operation, stackName)
}

// ownerDir is the directory of an owner's stacks.
func (d *Directory) ownerDir(owner string) (string, error) {
	escaped, err := escape(owner)
	if err != nil {
		return "", errmask.Maskf(err, "owner %.256q", owner)
	}
	return filepath.Join(d.root, escaped), nil
}

// stackDir is the directory of a stack's revisions.
func (d *Directory) stackDir(owner, stackName string) (string, error) {
	dir, err := d.ownerDir(owner)
	if err != nil {
		return "", err
	}
	escaped, err := escape(stackName)
	return filepath.Join(dir, escaped), err
}

func sumOf(manifest string) string {
	sum := sha256.Sum256([]byte(manifest))
	return hex.EncodeToString(sum[:])
}

func hasText(found []entry, manifest string) bool {
	sum := sumOf(manifest)
	return slices.ContainsFunc(found, func(e entry) bool { return e.sum == sum })
}
