package systemd

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sprintf(f string, v ...any) string { return fmt.Sprintf(f, v...) }

func errIsNotFound(err error) bool { return fleet.IsUnitNotFound(err) }
