package systemd

import (
	"errors"
	"fmt"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
)

var (
	errForeignUnit      = errors.New("foreign unit")
	errUnmetRequirement = errors.New("unmet requirement")
	errUnavailable      = errors.New("systemd is not to be had")
	errNotPermitted     = errors.New("not permitted")
)

// IsForeignUnit reports whether err says that a unit of that name is on the host already and was not written by this
// package. The message says where it is. fleet.IsConflict is true of it, too.
func IsForeignUnit(err error) bool { return errmask.Has(err, errForeignUnit) }

// IsUnmetRequirement reports whether err says that an option of X-Fleet can't hold on this host. One that never will is
// of fleet.IsInvalidRequest, one that fails on which other units are here of fleet.IsConflict.
func IsUnmetRequirement(err error) bool { return errmask.Has(err, errUnmetRequirement) }

// IsUnavailable reports whether err says that there is no systemd to talk to: the host runs another init, there is no
// D-Bus, or the user's manager does not run. The message says which, and what helps.
func IsUnavailable(err error) bool { return errmask.Has(err, errUnavailable) }

// IsNotPermitted reports whether err says that the caller may not do this: change units of the system's manager, or
// write to the directory.
func IsNotPermitted(err error) bool { return errmask.Has(err, errNotPermitted) }

func foreign(format string, v ...any) error {
	return errclass.With(errclass.ErrConflict, errclass.With(errForeignUnit, fmt.Errorf(format, v...)))
}

// unmet is a requirement that fails for the reason of the class.
func unmet(class error, format string, v ...any) error {
	return errclass.With(class, errclass.With(errUnmetRequirement, fmt.Errorf(format, v...)))
}

func invalid(err error) error { return errclass.With(errclass.ErrInvalidRequest, err) }

func notFound(err error) error { return errclass.With(errclass.ErrUnitNotFound, err) }
