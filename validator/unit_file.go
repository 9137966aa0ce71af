package validator

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/unit"
)

const (
	// MaxLineLength is the most bytes that a physical line of a unit file may have, its newline not counted. The limit
	// of fleet's parser is 2,048 with the newline.
	MaxLineLength = 2047

	// MaxFileSize is the most bytes that a unit file may have. fleet keeps each unit in etcd, which takes requests of
	// 1.5 MiB at most, and the encodings between here and there need room.
	MaxFileSize = 1 << 20

	// maxFindings bounds what a file without a single right line costs.
	maxFindings = 50
)

// UnitFile checks a unit file's text before it is handed to fleet, and gives the first Finding, or nil. It refuses what
// fleet would refuse, and what the parser of unit files would drop or turn into something else without a word:
//
//   - empty content, content without section or option, and content over MaxFileSize;
//   - a physical line over MaxLineLength (a continued line may be longer in all);
//   - NUL, bytes that are no UTF-8 (they don't survive JSON), and a carriage return that is not the end of a line;
//   - a line before the first section, an .include line, a section header that does not fill its line, and a line that
//     is neither comment, section header nor option;
//   - a comment that ends in a backslash, where the next line would be lost with it;
//   - a backslash that blanks or the file's end follow, and a line that ends in an even number of backslashes: the
//     parser and systemd don't agree on where such a value ends;
//   - options of [X-Fleet] that exclude each other.
//
// The name says which unit the finding is about, and is not checked.
func UnitFile(name, content string) error {
	if findings := UnitFileFindings(name, content); len(findings) > 0 {
		return findings[0]
	}
	return nil
}

// UnitFileFindings checks as UnitFile does and gives all findings, 50 at most, in the order of their lines.
func UnitFileFindings(name, content string) []Finding {
	check := fileCheck{unit: name}
	switch {
	case content == "":
		check.add(0, "the content is empty")
	case len(content) > MaxFileSize:
		check.add(0, "the content has %d bytes, but may have %d at most", len(content), MaxFileSize)
	default:
		check.lines = strings.Split(content, "\n")
		check.run(content)
	}
	return check.findings
}

// fileCheck is the check of one unit file.
type fileCheck struct {
	unit        string
	lines       []string // the physical lines
	findings    []Finding
	inSection   bool
	inValue     bool  // the line before this one goes on here
	optionLines []int // where each option begins
}

func (c *fileCheck) run(content string) {
	for i := range c.lines {
		if len(c.findings) >= maxFindings {
			return
		}
		c.checkBytes(i)
		c.checkLine(i)
	}
	if len(c.findings) > 0 {
		return
	}
	switch {
	case !c.inSection:
		c.add(0, "the content is no unit file: it has no section")
	case len(c.optionLines) == 0:
		c.add(0, "the content is no unit file: it has no option")
	default:
		c.checkParsed(content)
	}
}

// checkBytes looks at what a line is made of.
func (c *fileCheck) checkBytes(i int) {
	line := c.lines[i]
	if len(line) > MaxLineLength {
		c.add(i+1, "the line has %d bytes; fleet takes lines of up to 2,048 characters, newline included", len(line))
	}
	if strings.Contains(line, "\x00") {
		c.add(i+1, "the line contains NUL")
	}
	if strings.Contains(strings.TrimSuffix(line, "\r"), "\r") {
		c.add(i+1, "the line contains a carriage return")
	}
	if !utf8.ValidString(line) {
		c.add(i+1, "the line is not valid UTF-8")
	}
}

// checkLine looks at what a line means. Lines that follow a fault are read as if there had been none.
func (c *fileCheck) checkLine(i int) {
	line := strings.TrimSpace(c.lines[i])
	switch {
	case c.inValue:
		c.checkValue(i, c.lines[i])
	case line == "":
	case isComment(line):
		c.checkComment(i)
	case line[0] == '[':
		c.checkHeader(i, line)
	case isInclude(line):
		c.add(i+1, ".include is not supported: the unit file parser does not read it")
	case !c.inSection:
		c.add(i+1, "the line stands before the first section, where the unit file parser drops it")
	default:
		c.checkOption(i)
	}
}

func isComment(line string) bool { return line[0] == '#' || line[0] == ';' }

func isInclude(line string) bool {
	rest, found := strings.CutPrefix(line, ".include")
	return found && (rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '=')
}

// checkComment refuses a comment that takes the next line with it. One that takes a blank line or another comment does
// no harm; the last of a row of comments is looked at by itself.
func (c *fileCheck) checkComment(i int) {
	if !strings.HasSuffix(strings.TrimSuffix(c.lines[i], " "), `\`) || i+1 == len(c.lines) {
		return
	}
	if next := strings.TrimSpace(c.lines[i+1]); next != "" && !isComment(next) {
		c.add(i+1, "the comment ends in a backslash, so that the unit file parser would drop line %d: %.80q", i+2, next)
	}
}

func (c *fileCheck) checkHeader(i int, line string) {
	c.inSection = true
	name, rest, closed := strings.Cut(line[1:], "]")
	switch {
	case !closed:
		c.add(i+1, "the section header has no closing bracket")
	case strings.TrimSpace(rest) != "":
		c.add(i+1, "something follows the section header on its line: %.80q", rest)
	case name == "" || name != strings.TrimSpace(name) || strings.Contains(name, "["):
		c.add(i+1, "%.80q is no section name", name)
	}
}

func (c *fileCheck) checkOption(i int) {
	name, value, found := strings.Cut(c.lines[i], "=")
	switch {
	case !found:
		c.add(i+1, "the line is neither a comment, a section header nor an option")
		return
	case strings.TrimSpace(name) == "":
		c.add(i+1, "the option has no name")
	}
	c.optionLines = append(c.optionLines, i+1)
	c.checkValue(i, value)
}

// checkValue looks at where a value, or one line of it, ends, and whether it goes on.
func (c *fileCheck) checkValue(i int, value string) {
	stem := strings.TrimRight(value, `\`)
	backslashes := len(value) - len(stem)
	c.inValue = backslashes > 0
	switch {
	case backslashes == 0 && strings.HasSuffix(strings.TrimSpace(value), `\`):
		c.add(i+1, "the backslash at the end does not continue the line, since blanks follow it")
	case backslashes > 0 && i+1 == len(c.lines):
		c.add(i+1, "the file ends in a backslash")
	case backslashes > 0 && backslashes%2 == 0 && strings.TrimSpace(c.lines[i+1]) != "":
		c.add(i+1, "the line ends in an even number of backslashes: "+
			"the unit file parser would take line %d for a part of it, and systemd would not", i+2)
	}
}

// checkParsed reads the file as fleet does. By then no line is left that the parser could lose, or give up at.
func (c *fileCheck) checkParsed(content string) {
	options, err := unit.DeserializeOptions(strings.NewReader(content))
	if err != nil {
		c.add(0, "the unit file parser refuses the content: %v", err)
		return
	}
	if len(options) != len(c.optionLines) {
		c.add(0, "the unit file parser reads %d options where the content has %d", len(options), len(c.optionLines))
		return
	}
	c.checkScheduling(options)
}

func (c *fileCheck) add(line int, format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, Finding{Unit: c.unit, Line: line, Rule: fmt.Sprintf(format, args...)})
	}
}
