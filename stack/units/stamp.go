package units

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/validator"
)

// stampSection is the section of a unit file that says of which stack the unit is. Its option Group is what the controller
// knows a group's units by.
const stampSection = "X-Squadron"

// maxOwnerLength leaves the stamp's line well within what fleet takes.
const maxOwnerLength = 1024

// checkOwner refuses an owner that could not be read back from a unit file.
func checkOwner(owner string) error {
	switch {
	case owner == "":
		return errors.New("the owner has no name")
	case len(owner) > maxOwnerLength:
		return fmt.Errorf("the owner's name has %d bytes, but may have %d at most", len(owner), maxOwnerLength)
	case !utf8.ValidString(owner) || strings.ContainsFunc(owner, unicode.IsControl):
		return fmt.Errorf("the owner's name %.80q has characters that a unit file can't have", owner)
	case owner != strings.TrimSpace(owner) || strings.HasSuffix(owner, `\`):
		return fmt.Errorf("the owner's name %.80q begins or ends with what a unit file would lose", owner)
	}
	return nil
}

// stamped gives the units with what says whose they are.
func stamped(units []controller.Unit, group, owner string) ([]controller.Unit, error) {
	revision, err := revisionOf(units)
	if err != nil {
		return nil, err
	}
	marked := make([]controller.Unit, 0, len(units))
	for _, unit := range units {
		content := strings.TrimRight(unit.Content, "\n") +
			"\n\n[" + stampSection + "]\nGroup=" + group + "\nOwner=" + owner + "\nRevision=" + revision + "\n"
		// The stamp adds to the size, which may have been just right before.
		if err := validator.UnitFile(unit.Name, content); err != nil {
			return nil, fmt.Errorf("with its stamp: %w", err)
		}
		marked = append(marked, controller.Unit{Name: unit.Name, Content: content})
	}
	return marked, nil
}

// revisionOf is the hash of the unit files: of what they say, and not of comments, of their order, or of how many slices they
// are to make.
func revisionOf(units []controller.Unit) (string, error) {
	units = slices.Clone(units)
	slices.SortFunc(units, func(a, b controller.Unit) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, unit := range units {
		text, err := fleet.CanonicalUnit(unit.Content)
		if err != nil {
			return "", fmt.Errorf("unit %s: %w", unit.Name, err)
		}
		// The lengths keep apart what would look alike when written one after the other.
		fmt.Fprintf(sum, "%d %s\n%d %s\n", len(unit.Name), unit.Name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
