package controller

import (
	"errors"
	"fmt"
	"testing"

	"github.com/juju/errgo"
	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

var predicates = map[string]struct {
	is       func(error) bool
	sentinel error
}{
	"IsAmbiguousGroup":                      {IsAmbiguousGroup, errAmbiguousGroup},
	"IsAtInGroupNameError":                  {IsAtInGroupNameError, errAtInGroupName},
	"IsBadUnitPrefix":                       {IsBadUnitPrefix, errBadUnitPrefix},
	"IsGroupBusy":                           {IsGroupBusy, errGroupBusy},
	"IsGroupsArePrefix":                     {IsGroupsArePrefix, errGroupsArePrefix},
	"IsGroupsSameName":                      {IsGroupsSameName, errGroupsSameName},
	"IsInvalidArgument":                     {IsInvalidArgument, errInvalidArgument},
	"IsInvalidSubmitRequestNoSliceIDsGiven": {IsInvalidSubmitRequestNoSliceIDsGiven, errNoSliceIDsGiven},
	"IsInvalidSubmitRequestSlicesGiven":     {IsInvalidSubmitRequestSlicesGiven, errSlicesGiven},
	"IsInvalidUnitStatus":                   {IsInvalidUnitStatus, errInvalidUnitStatus},
	"IsMixedSliceInstance":                  {IsMixedSliceInstance, errMixedSliceInstance},
	"IsMultipleAtInUnitName":                {IsMultipleAtInUnitName, errMultipleAtInUnitName},
	"IsNoUnitsInGroup":                      {IsNoUnitsInGroup, errNoUnitsInGroup},
	"IsUnitConflict":                        {IsUnitConflict, errUnitConflict},
	"IsUnitFailed":                          {IsUnitFailed, errUnitFailed},
	"IsUnitNotFound":                        {IsUnitNotFound, errUnitNotFound},
	"IsUnitSliceNotFound":                   {IsUnitSliceNotFound, errUnitSliceNotFound},
	"IsUnitsAlreadyUpToDate":                {IsUnitsAlreadyUpToDate, errUnitsAlreadyUpToDate},
	"IsUnitsSameName":                       {IsUnitsSameName, errUnitsSameName},
	"IsUpdateFailed":                        {IsUpdateFailed, errUpdateFailed},
	"IsUpdateNotAllowed":                    {IsUpdateNotAllowed, errUpdateNotAllowed},
	"IsWaitTimeoutReached":                  {IsWaitTimeoutReached, errWaitTimeoutReached},
}

// R35: every predicate, through every way in which an error is passed on.
func TestPredicatesR35(t *testing.T) {
	ways := map[string]func(error) error{
		"bare":                func(err error) error { return err },
		"masked":              errmask.Mask,
		"masked with a text":  func(err error) error { return errmask.Maskf(err, "web") },
		"errgo":               func(err error) error { return errgo.Mask(err) },
		"errgo with Any":      func(err error) error { return errgo.Mask(err, errgo.Any) },
		"errgo twice":         func(err error) error { return errgo.Mask(errgo.Notef(err, "web")) },
		"wrapped":             func(err error) error { return fmt.Errorf("web: %w", err) },
		"wrapped beside":      func(err error) error { return fmt.Errorf("%w: %w", errors.New("a"), err) },
		"joined":              func(err error) error { return errors.Join(errors.New("a"), err) },
		"all of them":         func(err error) error { return errgo.Mask(errors.Join(fmt.Errorf("a: %w", errmask.Mask(err)))) },
		"in ValidationError":  func(err error) error { return ValidationError{CausingErrors: []error{errors.New("a"), err}} },
		"in *ValidationError": func(err error) error { return &ValidationError{CausingErrors: []error{err}} },
	}
	for name, predicate := range predicates {
		assert.False(t, predicate.is(nil), name)
		assert.False(t, predicate.is(errors.New(predicate.sentinel.Error())), "%s goes by the text", name)
		for way, pass := range ways {
			assert.True(t, predicate.is(pass(predicate.sentinel)), "%s %s", name, way)
			for other, kind := range predicates {
				if other != name {
					assert.False(t, predicate.is(pass(kind.sentinel)), "%s of %s %s", name, other, way)
				}
			}
		}
	}
}

// What fleet calls not found is not found here too.
func TestIsUnitNotFoundOfTheBackendR35(t *testing.T) {
	_, err := fleet.NewDummyFleet(fleet.DefaultDummyConfig()).GetStatus(t.Context(), "web@1.service")
	assert.Error(t, err)
	assert.True(t, IsUnitNotFound(fmt.Errorf("start: %w", err)))
}
