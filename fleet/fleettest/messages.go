package fleettest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// fleetdNames puts the names of a fleetd's own types where messages of encoding/json have those of this package.
var fleetdNames = strings.NewReplacer(
	"[]fleettest.apiOption", "[]*schema.UnitOption",
	"fleettest.apiUnit", "schema.Unit",
	"fleettest.apiOption", "schema.UnitOption",
	"[]fleettest.metadataPatch", "[]api.machineMetadataOp",
	"fleettest.metadataPatch", "api.machineMetadataOp",
	"struct field apiUnit.", "struct field Unit.",
	"struct field apiOption.", "struct field UnitOption.",
	"struct field metadataPatch.", "struct field machineMetadataOp.",
)

// asFleetd gives an error the text that it has in a fleetd.
func asFleetd(err error) error {
	text := fleetdNames.Replace(err.Error())
	// The parser of a fleetd prints what it found behind a section's name as a list of bytes.
	const garbage = "found garbage after section name "
	if rest, found := strings.CutPrefix(text, garbage); found {
		section, quoted, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Unquote(quoted); err == nil {
			text = fmt.Sprintf("%s%s: %d", garbage, section, []byte(line))
		}
	}
	return errors.New(text)
}
