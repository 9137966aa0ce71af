package swarm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moby/moby/client"
)

// The labels of what a stack is made of.
const (
	labelNamespace = "com.docker.stack.namespace"
	labelOwner     = "squadron.owner"
	labelRevision  = "squadron.revision"
)

// ofStack selects what carries the namespace's label.
func ofStack(name string) client.Filters {
	return make(client.Filters).Add("label", labelNamespace+"="+name)
}

// stamped gives labels with what says whose the thing is.
func stamped(labels map[string]string, owner, revision string) map[string]string {
	marked := maps.Clone(labels)
	if marked == nil {
		marked = map[string]string{}
	}
	marked[labelOwner], marked[labelRevision] = owner, revision
	return marked
}

// revisionOf is a hash of what the manifest says of one thing.
func revisionOf(of any) (string, error) {
	text, err := json.Marshal(of) // maps are sorted
	if err != nil {
		return "", err
	}
	return digestOf(text), nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// maxOwnerLength keeps an owner's name readable where labels are listed.
const maxOwnerLength = 1024

// checkOwner refuses an owner that could not be read back from a label.
func checkOwner(owner string) error {
	switch {
	case owner == "":
		return errors.New("the owner has no name")
	case len(owner) > maxOwnerLength:
		return fmt.Errorf("the owner's name has %d bytes, but may have %d at most", len(owner), maxOwnerLength)
	case !utf8.ValidString(owner) || strings.ContainsFunc(owner, unicode.IsControl):
		return fmt.Errorf("the owner's name %.80q has characters that a label can't have", owner)
	}
	return nil
}

// The characters of the names that services can be scoped by, and how many there may be.
const (
	lettersDigits   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	longestName     = 63
	stackCharacters = lettersDigits + "_-"
)

func checkStackName(name string) error {
	if name == "" || len(name) > longestName || !strings.Contains(lettersDigits, name[:1]) || strings.Trim(name, stackCharacters) != "" {
		return fmt.Errorf("%.256q can't be a stack's name: it has to be made of at most 63 letters, digits, _ and -, "+
			"and to begin with a letter or digit", name)
	}
	return nil
}
