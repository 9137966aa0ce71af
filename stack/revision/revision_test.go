package revision_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDirectory(t *testing.T) (*revision.Directory, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made", "at", "first")
	store, err := revision.NewDirectory(path)
	require.NoError(t, err)
	return store, path
}

// onBoth runs a test on each kind of store.
func onBoth(t *testing.T, f func(t *testing.T, store stack.RevisionStore)) {
	t.Run("directory", func(t *testing.T) {
		store, _ := newDirectory(t)
		f(t, store)
	})
	t.Run("memory", func(t *testing.T) { f(t, &revision.Memory{}) })
}

func manifests(t *testing.T, store stack.RevisionStore, owner, name string) []string {
	t.Helper()
	revisions, err := store.Revisions(t.Context(), owner, name)
	require.NoError(t, err)
	texts := []string{}
	for _, r := range revisions {
		assert.False(t, r.Time.IsZero())
		texts = append(texts, r.Manifest)
	}
	return texts
}

func stacks(t *testing.T, store stack.RevisionStore, owner string) []string {
	t.Helper()
	names, err := store.Stacks(t.Context(), owner)
	require.NoError(t, err)
	return names
}

func TestRevisionsAreKeptNewestFirstAndOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, store stack.RevisionStore) {
		assert.Empty(t, manifests(t, store, "alice", "web"), "none is no error")
		for _, text := range []string{"one", "two", "one", "three", ""} {
			require.NoError(t, store.AddRevision(t.Context(), "alice", "web", text))
		}
		assert.Equal(t, []string{"", "three", "two", "one"}, manifests(t, store, "alice", "web"))
		revisions, err := store.Revisions(t.Context(), "alice", "web")
		require.NoError(t, err)
		ids := map[string]bool{}
		for _, r := range revisions {
			ids[r.ID] = true
		}
		assert.Len(t, ids, 4, "IDs tell revisions apart")
	})
}

func TestMoreThanTenRevisionsStaySorted(t *testing.T) {
	onBoth(t, func(t *testing.T, store stack.RevisionStore) {
		var want []string
		for i := range 12 {
			require.NoError(t, store.AddRevision(t.Context(), "a", "web", fmt.Sprint(i)))
			want = append([]string{fmt.Sprint(i)}, want...)
		}
		assert.Equal(t, want, manifests(t, store, "a", "web"))
	})
}

func TestOwnersAndStacksAreKeptApart(t *testing.T) {
	names := []string{"..", ".", "a/b", "../../etc/passwd", "a", "A", "%2E", ".lock", "über", "a\nb", `x\x2dy`}
	onBoth(t, func(t *testing.T, store stack.RevisionStore) {
		for _, owner := range names {
			for _, name := range names {
				require.NoError(t, store.AddRevision(t.Context(), owner, name, owner+" "+name))
			}
		}
		for _, owner := range names {
			assert.ElementsMatch(t, names, stacks(t, store, owner))
			for _, name := range names {
				assert.Equal(t, []string{owner + " " + name}, manifests(t, store, owner, name))
			}
		}
		assert.Empty(t, stacks(t, store, "somebody else"))
	})
}

func TestDropForgetsOneStackOfOneOwner(t *testing.T) {
	onBoth(t, func(t *testing.T, store stack.RevisionStore) {
		for _, owner := range []string{"alice", "bob"} {
			for _, name := range []string{"db", "web"} {
				require.NoError(t, store.AddRevision(t.Context(), owner, name, "text"))
			}
		}
		require.NoError(t, store.DropRevisions(t.Context(), "alice", "web"))
		require.NoError(t, store.DropRevisions(t.Context(), "alice", "web"), "one that is not there is no error")
		assert.Equal(t, []string{"db"}, stacks(t, store, "alice"))
		assert.Empty(t, manifests(t, store, "alice", "web"))
		assert.Equal(t, []string{"db", "web"}, stacks(t, store, "bob"))
		require.NoError(t, store.AddRevision(t.Context(), "alice", "web", "again"))
		assert.Equal(t, []string{"again"}, manifests(t, store, "alice", "web"))
	})
}

func TestContextThatHasEndedWritesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, store stack.RevisionStore) {
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, store.AddRevision(ended, "alice", "web", "text"), context.Canceled)
		require.NoError(t, store.AddRevision(t.Context(), "alice", "web", "text"))
		require.ErrorIs(t, store.DropRevisions(ended, "alice", "web"), context.Canceled)
		_, err := store.Revisions(ended, "alice", "web")
		require.ErrorIs(t, err, context.Canceled)
		_, err = store.Stacks(ended, "alice")
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []string{"text"}, manifests(t, store, "alice", "web"))
	})
}

// TestManyWritersAtOnce has two stores on one directory, as two processes have.
func TestManyWritersAtOnce(t *testing.T) {
	first, path := newDirectory(t)
	second, err := revision.NewDirectory(path)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for i := range 20 {
		for _, store := range []*revision.Directory{first, second} {
			wait.Go(func() { assert.NoError(t, store.AddRevision(t.Context(), "alice", "web", fmt.Sprint(i%10))) })
		}
		wait.Go(func() { assert.NoError(t, second.DropRevisions(t.Context(), "alice", "db")) })
		wait.Go(func() {
			_, err := first.Revisions(t.Context(), "alice", "web")
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	assert.Len(t, manifests(t, first, "alice", "web"), 10, "each text once")
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	store, path := newDirectory(t)
	require.NoError(t, store.AddRevision(t.Context(), "alice", "web", "text"))
	files, err := filepath.Glob(filepath.Join(path, "alice", "web", "*.manifest"))
	require.NoError(t, err)
	require.Len(t, files, 1)

	t.Run("cut short", func(t *testing.T) {
		require.NoError(t, os.WriteFile(files[0], []byte("tex"), 0o600))
		defer func() { require.NoError(t, os.WriteFile(files[0], []byte("text"), 0o600)) }()
		_, err := store.Revisions(t.Context(), "alice", "web")
		assert.ErrorContains(t, err, "is damaged")
	})
	t.Run("a file of another name", func(t *testing.T) {
		other := filepath.Join(path, "alice", "web", "notes.txt")
		require.NoError(t, os.WriteFile(other, nil, 0o600))
		defer func() { require.NoError(t, os.Remove(other)) }()
		_, err := store.Revisions(t.Context(), "alice", "web")
		assert.ErrorContains(t, err, "notes.txt")
		_, err = store.Stacks(t.Context(), "alice")
		assert.Error(t, err)
		assert.Error(t, store.AddRevision(t.Context(), "alice", "web", "more"))
	})
	t.Run("a directory of another name", func(t *testing.T) {
		other := filepath.Join(path, "alice", "%zz")
		require.NoError(t, os.Mkdir(other, 0o700))
		defer func() { require.NoError(t, os.Remove(other)) }()
		_, err := store.Stacks(t.Context(), "alice")
		assert.ErrorContains(t, err, "%zz")
	})
	t.Run("no directory", func(t *testing.T) {
		broken, err := revision.NewDirectory(files[0])
		require.NoError(t, err)
		_, err = broken.Revisions(t.Context(), "alice", "web")
		assert.Error(t, err)
		_, err = broken.Stacks(t.Context(), "alice")
		assert.Error(t, err)
		assert.Error(t, broken.AddRevision(t.Context(), "alice", "web", "text"))
	})
	assert.Equal(t, []string{"text"}, manifests(t, store, "alice", "web"), "all is well again")
}

// TestWhatAnEndedProcessLeavesIsNoRevision has files as a process leaves them that was ended between two steps.
func TestWhatAnEndedProcessLeavesIsNoRevision(t *testing.T) {
	store, path := newDirectory(t)
	require.NoError(t, os.MkdirAll(filepath.Join(path, "alice", "web"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path, "alice", "web", ".written-1"), []byte("ha"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "alice", ".removed-1", "stack"), 0o700))
	assert.Empty(t, manifests(t, store, "alice", "web"))
	assert.Empty(t, stacks(t, store, "alice"), "a stack without a revision is none")
	require.NoError(t, store.AddRevision(t.Context(), "alice", "web", "half"))
	require.NoError(t, store.AddRevision(t.Context(), "alice", "db", "text"))
	require.NoError(t, store.DropRevisions(t.Context(), "alice", "db"))
	var left []string
	require.NoError(t, filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if strings.HasPrefix(entry.Name(), ".written") || strings.HasPrefix(entry.Name(), ".removed") {
			left = append(left, file)
		}
		return err
	}))
	assert.Empty(t, left)
	assert.Equal(t, []string{"half"}, manifests(t, store, "alice", "web"))
}

func TestNamesThatNoFileCanHave(t *testing.T) {
	store, _ := newDirectory(t)
	for _, name := range []string{"", strings.Repeat("x", 256), strings.Repeat("/", 100)} {
		assert.Error(t, store.AddRevision(t.Context(), name, "web", "text"))
		assert.Error(t, store.AddRevision(t.Context(), "alice", name, "text"))
		assert.Error(t, store.DropRevisions(t.Context(), "alice", name))
		_, err := store.Revisions(t.Context(), "alice", name)
		assert.Error(t, err)
		_, err = store.Stacks(t.Context(), name)
		assert.Error(t, err)
	}
	_, err := revision.NewDirectory("")
	assert.Error(t, err)
}

func TestNothingIsMadeBeforeTheFirstRevision(t *testing.T) {
	store, path := newDirectory(t)
	assert.Empty(t, stacks(t, store, "alice"))
	assert.Empty(t, manifests(t, store, "alice", "web"))
	require.NoError(t, store.DropRevisions(t.Context(), "alice", "web"))
	assert.NoDirExists(t, path)
}

func ExampleDirectory() {
	path, err := os.MkdirTemp("", "revisions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)
	store, err := revision.NewDirectory(path)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for _, manifest := range []string{"slices: 1", "slices: 3", "slices: 3"} {
		if err := store.AddRevision(ctx, "alice", "web", manifest); err != nil {
			panic(err)
		}
	}
	revisions, err := store.Revisions(ctx, "alice", "web")
	if err != nil {
		panic(err)
	}
	for _, r := range revisions {
		fmt.Println(r.ID, r.Manifest)
	}
	// Output:
	// 2 slices: 3
	// 1 slices: 1
}
