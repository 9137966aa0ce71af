package validator_test

import (
	"fmt"

	"github.com/squadronctl/squadron/validator"
)

func ExampleUnitFile() {
	content := `[Service]
# the comment goes on \
ExecStart=/bin/sleep 1000
`
	fmt.Println(validator.UnitFile("web@1.service", content))
	// Output: unit "web@1.service", line 2: the comment ends in a backslash, so that the unit file parser would drop line 3: "ExecStart=/bin/sleep 1000"
}

func ExampleUnitName() {
	fmt.Println(validator.UnitName("web@1.service"))
	fmt.Println(validator.UnitName("shop/web@1.service"))
	fmt.Println(validator.UnitName("web@.service"))
	// Output:
	// <nil>
	// unit "shop/web@1.service": the character '/' can't be part of a unit name
	// unit "web@.service": is a template, which can't run: nothing stands between @ and the suffix
}
