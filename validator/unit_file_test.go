package validator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(content)
}

// C1: the parser would lose ExecStart, so the file is refused with the lines of both.
func TestUnitFileCommentEndingInBackslashC1(t *testing.T) {
	findings := UnitFileFindings("web@1.service", fixture(t, "comment-backslash.service"))
	require.Len(t, findings, 1)
	assert.Equal(t, 5, findings[0].Line)
	assert.Equal(t, `unit "web@1.service", line 5: the comment ends in a backslash, so that the unit file parser `+
		`would drop line 6: "ExecStart=/bin/sleep 1000"`, findings[0].Error())
}

// C2: .include is refused, and so is any other line above the first section.
func TestUnitFileIncludeC2(t *testing.T) {
	err := UnitFile("web@1.service", fixture(t, "include.service"))
	assert.EqualError(t, err,
		`unit "web@1.service", line 1: .include is not supported: the unit file parser does not read it`)
}

// C3: one line of 2,100 characters is refused by number; the same split into lines of 1,500 is accepted.
func TestUnitFileLongLineC3(t *testing.T) {
	long := "[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 2080) + "\n"
	findings := UnitFileFindings("web@1.service", long)
	require.Len(t, findings, 1)
	assert.Equal(t, 2, findings[0].Line)
	assert.Contains(t, findings[0].Rule, "2,048")

	split := "[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 1478) + " \\\n" + strings.Repeat("y", 600) + "\n"
	assert.NoError(t, UnitFile("web@1.service", split))
}

// The limit is the parser's own: it wants a newline among the first 2,048 bytes. Bytes count, not letters.
func TestUnitFileLineLimitR4(t *testing.T) {
	after := strings.Repeat("Environment=A=b\n", 300)
	fits := "[Service]\n" + strings.Repeat("a", MaxLineLength-2) + "=b\n" + after
	require.NoError(t, UnitFile("a.service", fits))
	_, err := unit.DeserializeOptions(strings.NewReader(fits))
	require.NoError(t, err)

	over := "[Service]\n" + strings.Repeat("a", MaxLineLength-1) + "=b\n" + after
	require.Error(t, UnitFile("a.service", over))
	_, err = unit.DeserializeOptions(strings.NewReader(over))
	require.ErrorIs(t, err, unit.ErrLineTooLong)

	assert.Error(t, UnitFile("a.service", "[Service]\nA="+strings.Repeat("é", 1500)+"\n"))
	assert.NoError(t, UnitFile("a.service", "[Service]\nA="+strings.Repeat("é", 1000)+"\n"))
	comment := "[Service]\nA=b\n#" + strings.Repeat("c", 3000)
	assert.Error(t, UnitFile("a.service", comment), "a long comment breaks the parser as well")
}

func TestUnitFileAcceptsR4(t *testing.T) {
	for name, content := range map[string]string{
		"plain":                                "[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/sleep 1\n",
		"no newline at the end":                "[Service]\nA=b",
		"Windows line ends":                    "[Service]\r\nA=b\r\n",
		"comments above the first section":     "# one\n; two\n\n[Service]\nA=b\n",
		"blanks before header and option":      "  [Service]  \n\tA = b \n",
		"empty value":                          "[Service]\nExecStart=\nExecStart=/bin/true\n",
		"section without options":              "[Install]\n[Service]\nA=b\n",
		"continued":                            "[Service]\nA=b \\\n  c \\\n  d\nE=f\n",
		"continued by a blank line":            "[Service]\nA=b \\\n\nE=f\n",
		"continued by the last, empty line":    "[Service]\nA=b \\\n",
		"comment with backslash, then comment": "[Service]\n# a \\\n# b\nA=b\n",
		"comment with backslash, then blank":   "[Service]\n# a \\\n\nA=b\n",
		"comment with backslash at the end":    "[Service]\nA=b\n# a \\",
		"comment with backslash and blanks":    "[Service]\n# a \\  \nA=b\n",
		"three backslashes":                    "[Service]\nA=b\\\\\\\nc\n",
		"two backslashes, then blank":          "[Service]\nA=b\\\\\n\nC=d\n",
		"something like a comment in a value":  "[Service]\nA=b \\\n# c\nD=e\n",
		"other alphabets":                      "[Unit]\nDescription=größer 大\n",
		"extra = in the value":                 "[Service]\nEnvironment=A=b\n",
	} {
		t.Run(name, func(t *testing.T) { assert.NoError(t, UnitFile("a.service", content)) })
	}
}

func TestUnitFileRefusesR4(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		line    int
		rule    string
	}{
		"empty":                          {"", 0, "content is empty"},
		"blank":                          {" \n\n", 0, "no section"},
		"comments alone":                 {"# a\n", 0, "no section"},
		"section alone":                  {"[Service]\n", 0, "no option"},
		"no unit file":                   {"hello world\n", 1, "before the first section"},
		"HTML":                           {"<html>\n<body>\n", 1, "before the first section"},
		"option above the first section": {"A=b\n[Service]\nC=d\n", 1, "before the first section"},
		"byte order mark":                {"\ufeff[Service]\nA=b\n", 1, "before the first section"},
		"include below":                  {"[Service]\n.include /etc/x=y\nA=b\n", 2, ".include"},
		"include with a tab":             {"[Service]\nA=b\n.include\t/x\n", 3, ".include"},
		"include alone":                  {".include\n[Service]\nA=b\n", 1, ".include"},
		"comment, backslash, blank":      {"[Service]\n# a \\ \nA=b\n", 2, "drop line 3"},
		"comment takes a header":         {"[Unit]\nA=b\n; a \\\n[Service]\nC=d\n", 3, "drop line 4"},
		"row of comments":                {"[Unit]\n# a \\\n# b \\\nA=b\n", 3, "drop line 4"},
		"header open":                    {"[Service\nA=b\n", 1, "closing bracket"},
		"header over two lines":          {"[Ser\nvice]\nA=b\n", 1, "closing bracket"},
		"header with garbage":            {"[Service] # a\nA=b\n", 1, "follows the section header"},
		"header empty":                   {"[]\nA=b\n", 1, "no section name"},
		"header with blanks":             {"[ Service ]\nA=b\n", 1, "no section name"},
		"header twice open":              {"[[Service]\nA=b\n", 1, "no section name"},
		"no option":                      {"[Service]\nExecStart /bin/true\n", 2, "neither"},
		"option without name":            {"[Service]\n=b\n", 2, "no name"},
		"NUL":                            {"[Service]\nA=b\x00\n", 2, "NUL"},
		"carriage return inside":         {"[Service]\nA=b\rC=d\n", 2, "carriage return"},
		"no UTF-8":                       {"[Service]\nA=\xff\n", 2, "UTF-8"},
		"backslash and blank":            {"[Service]\nA=b \\ \nC=d\n", 2, "blanks follow"},
		"backslash and CR":               {"[Service]\r\nA=b \\\r\n c\r\n", 2, "blanks follow"},
		"continued, backslash and tab":   {"[Service]\nA=b \\\n c \\\t\nC=d\n", 3, "blanks follow"},
		"backslash at the file's end":    {"[Service]\nA=b \\", 2, "ends in a backslash"},
		"two backslashes":                {"[Service]\nA=b\\\\\n[X-Fleet]\nGlobal=true\n", 2, "even number"},
		"two backslashes, continued":     {"[Service]\nA=b \\\nc\\\\\nD=e\n", 3, "even number"},
		"too large":                      {strings.Repeat("x", MaxFileSize+1), 0, "1048577 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			findings := UnitFileFindings("web.service", c.content)
			require.NotEmpty(t, findings)
			assert.Equal(t, c.line, findings[0].Line)
			assert.Contains(t, findings[0].Rule, c.rule)
			assert.NotContains(t, findings[0].Error(), "\n")
			assert.ErrorContains(t, UnitFile("web.service", c.content), `unit "web.service"`)
		})
	}
}

func TestUnitFileFindingsGivesAllAndNotTooMany(t *testing.T) {
	findings := UnitFileFindings("a.service", "x\n[Service]\nno option\nA=\x00\n")
	require.Len(t, findings, 3)
	assert.Equal(t, []int{1, 3, 4}, []int{findings[0].Line, findings[1].Line, findings[2].Line})

	assert.Len(t, UnitFileFindings("a.service", strings.Repeat("x\n", 100000)), maxFindings)
	assert.Len(t, UnitFileFindings("a.service", strings.Repeat("x", 10<<20)), 1)
}

// A file of the largest size is read once, line by line.
func BenchmarkUnitFileOfMaxSize(b *testing.B) {
	line := "Environment=A=b\n"
	content := "[Service]\n" + strings.Repeat(line, (MaxFileSize-10)/len(line))
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if err := UnitFile("a.service", content); err != nil {
			b.Fatal(err)
		}
	}
}

// What is accepted is parsed, no line of it is lost, and what is stored is read back as the same.
func FuzzUnitFile(f *testing.F) {
	for _, seed := range []string{
		"", "[Service]\nA=b \\\n c\n", "[Service]\n# a \\\nA=b\n", "A=b\n[Service]\n", ".include /x\n[U]\nA=b",
		"[S]\r\nA=b\r\n", "[S]\nA=b\\\\\nC=d\n", "[X-Fleet]\nMachineOf=\"a\" \"b\"\nConflicts=a*\n", "[S]\nA=b\\ \nC=d\n",
		"[S]\nA=b\\\n\n[S]\nC=d", "[S]\n\u0085A=b\n", "[S]\nA=\u00a0b\n", fixture(f, "comment-backslash.service"),
		fixture(f, "include.service"), "[S]\nA=b\\",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		findings := UnitFileFindings("a.service", content)
		require.LessOrEqual(t, len(findings), maxFindings)
		for _, finding := range findings {
			require.NotContains(t, finding.Error(), "\n")
		}
		if len(findings) > 0 {
			return
		}
		sections, err := unit.DeserializeSections(strings.NewReader(content))
		require.NoError(t, err)
		require.Equal(t, wantedLines(content), parsedLines(sections))

		options, err := unit.DeserializeOptions(strings.NewReader(content))
		require.NoError(t, err)
		stored := overJSON(t, options)
		again, err := unit.DeserializeOptions(unit.Serialize(stored))
		require.NoError(t, err)
		require.True(t, unit.AllMatch(grouped(options), again), "%q and %q", options, again)
	})
}

// overJSON sends options the way they go to fleet.
func overJSON(t *testing.T, options []*unit.UnitOption) []*unit.UnitOption {
	body, err := json.Marshal(options)
	require.NoError(t, err)
	var received []*unit.UnitOption
	require.NoError(t, json.Unmarshal(body, &received))
	return received
}

// grouped sorts options by the first appearance of their sections, as serialising does.
func grouped(options []*unit.UnitOption) []*unit.UnitOption {
	var sections []string
	bySection := map[string][]*unit.UnitOption{}
	for _, option := range options {
		if bySection[option.Section] == nil {
			sections = append(sections, option.Section)
		}
		bySection[option.Section] = append(bySection[option.Section], option)
	}
	var all []*unit.UnitOption
	for _, section := range sections {
		all = append(all, bySection[section]...)
	}
	return all
}

// wantedLines are a file's lines that say something, with the blanks that say nothing taken out.
func wantedLines(content string) []string {
	wanted := []string{}
	continued := false
	for line := range strings.SplitSeq(content, "\n") {
		bare := strings.TrimSpace(line)
		if !continued && bare != "" && (bare[0] == '#' || bare[0] == ';') {
			continue
		}
		if name, value, found := strings.Cut(bare, "="); found && !continued && bare[0] != '[' {
			bare = strings.TrimSpace(name) + "=" + strings.TrimSpace(value)
		}
		if bare != "" {
			wanted = append(wanted, bare)
		}
		continued = bare != "" && strings.HasSuffix(line, `\`)
	}
	return wanted
}

// parsedLines are the lines of what the parser read.
func parsedLines(sections []*unit.UnitSection) []string {
	lines := []string{}
	for _, section := range sections {
		lines = append(lines, "["+section.Section+"]")
		for _, entry := range section.Entries {
			first := true
			for line := range strings.SplitSeq(entry.Value, "\n") {
				bare := strings.TrimSpace(line)
				if first {
					bare = entry.Name + "=" + bare
				}
				if bare != "" {
					lines = append(lines, bare)
				}
				first = false
			}
		}
	}
	return lines
}
