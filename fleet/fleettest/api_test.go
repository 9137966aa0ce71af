package fleettest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fleetunit "github.com/coreos/fleet/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

func failure(code int, message string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q}}`, code, message)
}

// R37: the table of fleet's API, codes and bodies.
func TestAPI(t *testing.T) {
	const units, state = "/fleet/v1/units", "/fleet/v1/state"
	options := `"options":[{"section":"Service","name":"ExecStart","value":"/bin/sleep 1"}]`
	optionsX := func(lines ...string) string {
		var all []string
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			all = append(all, fmt.Sprintf(`{"section":"X-Fleet","name":%q,"value":%q}`, name, value))
		}
		return `{"options":[` + strings.Join(all, ",") + `]}`
	}
	m1 := ids(1)[0]
	for _, row := range []struct {
		name, method, target, body string
		code                       int
		want                       string
	}{
		{"create", "PUT", units + "/new.service", `{"desiredState":"loaded",` + options + `}`, 201, ``},
		{"create, @ escaped", "PUT", units + "/new%401.service", `{"desiredState":"loaded",` + options + `}`, 201, ``},
		{"create a template launched", "PUT", units + "/new@.service", `{"desiredState":"launched",` + options + `}`, 201, ``},
		{"create without state", "PUT", units + "/new.service", `{` + options + `}`, 201, ``},
		{"create without options", "PUT", units + "/new.service", `{"desiredState":"loaded"}`, 409, failure(409, "unit does not exist and options field empty")},
		{"create in an unknown state", "PUT", units + "/new.service", `{"desiredState":"running",` + options + `}`, 500, failure(500, "")},
		{"change of state", "PUT", units + "/web@1.service", `{"desiredState":"launched"}`, 204, ``},
		{"change without state", "PUT", units + "/web@1.service", `{}`, 409, failure(409, "must provide DesiredState to update existing unit")},
		{"change to an unknown state", "PUT", units + "/web@1.service", `{"desiredState":"running"}`, 204, ``},
		{"change with equal options", "PUT", units + "/web@1.service", `{"desiredState":"launched","options":[{"section":"Service","name":"ExecStart","value":"/bin/sleep 1000"}]}`, 204, ``},
		{"replace", "PUT", units + "/web@1.service", `{"desiredState":"launched",` + options + `}`, 201, ``},
		{"replace, options not checked", "PUT", units + "/web@1.service", optionsX("MachineID=x", "Global=true"), 201, ``},
		{"change of a template", "PUT", units + "/web@.service", `{"desiredState":"launched"}`, 400, failure(400, `cannot activate template "web@.service"`)},
		{"names differ", "PUT", units + "/a.service", `{"name":"b.service"}`, 400, failure(400, `name in URL "a.service" differs from unit name in request body "b.service"`)},
		{"half a body", "PUT", units + "/a.service", `{"name":`, 400, failure(400, `unable to decode body: unexpected EOF`)},
		{"no body", "PUT", units + "/a.service", ``, 400, failure(400, `unable to decode body: EOF`)},
		{"line too long", "PUT", units + "/a.service", optionsX("Y=" + strings.Repeat("x", 2100)), 400, failure(400, "line too long (max 2048 bytes)")},
		{"newline in a value", "PUT", units + "/a.service", optionsX("Y=a\nb"), 400, failure(400, "unexpected newline encountered while parsing option name")},
		{"continued line", "PUT", units + "/a.service", optionsX("Y=" + strings.Repeat("x", 1500) + "\\\n" + strings.Repeat("x", 1500)), 201, ``},
		{"ID and peers", "PUT", units + "/a.service", optionsX("MachineID=x", "MachineOf=b.service"), 400, failure(400, "MachineID cannot be used with Peers")},
		{"ID and conflicts", "PUT", units + "/a.service", optionsX("MachineID=x", "Conflicts=b.service"), 400, failure(400, "MachineID cannot be used with Conflicts")},
		{"ID and global", "PUT", units + "/a.service", optionsX("MachineID=x", "Global=true"), 400, failure(400, "MachineID cannot be used with Global")},
		{"ID and replaces", "PUT", units + "/a.service", optionsX("MachineID=x", "Replaces=b.service"), 400, failure(400, "MachineID cannot be used with Replaces")},
		{"global and peers", "PUT", units + "/a.service", optionsX("Global=true", "MachineOf=b.service"), 400, failure(400, "Global cannot be used with Peers")},
		{"global and replaces", "PUT", units + "/a.service", optionsX("Global=true", "Replaces=b.service"), 400, failure(400, "Global cannot be used with Replaces")},
		{"conflicts and replaces", "PUT", units + "/a.service", optionsX("Conflicts=c", "Replaces=b.service"), 400, failure(400, "Conflicts cannot be used with Replaces")},
		{"peer conflicts", "PUT", units + "/a.service", optionsX("MachineOf=b.service", "Conflicts=b.*"), 400, failure(400, `unresolvable requirements: peer "b.service" matches conflict "b.*"`)},
		{"peer is replaced", "PUT", units + "/a.service", optionsX("MachineOf=b.service", "Replaces=b.*"), 400, failure(400, `unresolvable requirements: peer "b.service" matches replace "b.*"`)},
		{"get", "GET", units + "/web@1.service", "", 200, `{"currentState":"loaded","desiredState":"loaded","machineID":"` + m1 + `","name":"web@1.service","options":[{"name":"ExecStart","section":"Service","value":"/bin/sleep 1000"}]}`},
		{"get none", "GET", units + "/a.service", "", 404, failure(404, "unit does not exist")},
		{"delete", "DELETE", units + "/web%401.service", "", 204, ``},
		{"delete none", "DELETE", units + "/a.service", "", 404, failure(404, "unit does not exist")},
		{"post to a unit", "POST", units + "/a.service", "", 405, failure(405, "only GET, PUT and DELETE supported against this resource")},
		{"post to units", "POST", units, "", 405, failure(405, "only GET supported against this resource")},
		{"slash behind units", "GET", units + "/", "", 404, failure(404, "")},
		{"slash in a name", "GET", units + "/a/b.service", "", 404, failure(404, "")},
		{"state", "GET", state + "/web@1.service", "", 200, `{"hash":"` + fleetHash(t, service) + `","machineID":"` + m1 + `","name":"web@1.service","systemdActiveState":"inactive","systemdLoadState":"loaded","systemdSubState":"dead"}`},
		{"state filtered", "GET", state + "?unitName=nobody.service", "", 200, `{}`},
		{"post to state", "POST", state, "", 405, failure(405, "only GET supported against this resource")},
		{"post to one state", "POST", state + "/a.service", "", 405, failure(405, "only GET supported against this resource")},
		{"machines", "GET", "/fleet/v1/machines", "", 200, `{"machines":[{"id":"` + m1 + `","metadata":{"name":"m1","zone":"a"},"primaryIP":"192.0.2.1"}]}`},
		{"post to machines", "POST", "/fleet/v1/machines", "", 405, failure(405, "only GET and PATCH supported against this resource")},
		{"post to discovery", "POST", "/fleet/v1/discovery", "", 400, failure(400, "only HTTP GET supported against this resource")},
		{"the prefix alone", "GET", "/fleet/v1", "", 405, failure(405, "")},
		{"the root", "GET", "/", "", 405, failure(405, "")},
		{"elsewhere", "GET", "/elsewhere", "", 404, failure(404, "")},
		{"the older prefix", "GET", "/v1-alpha/units/a.service", "", 404, failure(404, "unit does not exist")},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(1)})
			b.put("web@1.service", service, "loaded")
			b.put("web@.service", service, "inactive")
			code, body := b.ask(row.method, row.target, row.body)
			assert.Equal(t, row.code, code)
			assert.Equal(t, row.want, body)
		})
	}
}

// fleetHash is the hash that fleet itself gives a unit file.
func fleetHash(t *testing.T, content string) string {
	file, err := fleetunit.NewUnitFile(content)
	require.NoError(t, err)
	return file.Hash().String()
}

func fleetText(t *testing.T, content string) string {
	file, err := fleetunit.NewUnitFile(content)
	require.NoError(t, err)
	return file.String()
}

// R37: names as fleet takes them.
func TestAPINames(t *testing.T) {
	for name, message := range map[string]string{
		"web":                                 `unit name must contain "."`,
		"web.":                                `unit name cannot end in "."`,
		"web.exe":                             `invalid unit type: "exe"`,
		"web@1.mount":                         `invalid unit type for template: "mount"`,
		"we b.service":                        `invalid character ' ' in unit name`,
		"w%20b.service":                       `invalid character '%' in unit name`,
		"@1.service":                          `unit name cannot start in "@"`,
		strings.Repeat("x", 300):              `unit name exceeds maximum length (256)`,
		`srv-a\x2db@1.service`:                "",
		"ovs@10.0.0.7.service":                "",
		"a:b_c-D.automount":                   "",
		"x.busname":                           "",
		"x.device":                            "",
		"x.snapshot":                          "",
		"x@1.path":                            "",
		"x@1.target":                          "",
		"double@@1.service":                   "",
		strings.Repeat("x", 248) + ".service": "",
	} {
		c := fleettest.NewCluster(fleettest.Config{})
		err := c.Put(name, service, "loaded")
		if message == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, fmt.Sprintf("put unit %q: %s", name, message))
		}
	}
}

// A direct write fails where the API would refuse it, and changes nothing.
func TestPutRefused(t *testing.T) {
	c := fleettest.NewCluster(fleettest.Config{})
	assert.EqualError(t, c.Put("web.service", service, "running"),
		`put unit "web.service": desired state "running" is none of inactive, loaded and launched`)
	assert.ErrorContains(t, c.Put("web.service", "[Service\n", "loaded"), `put unit "web.service": `)
	assert.ErrorContains(t, c.Put("web.service", "", "loaded"), "options field empty")
	assert.Empty(t, c.Units())
}

// R37: PUT needs its content type.
func TestAPIContentType(t *testing.T) {
	c := fleettest.NewCluster(fleettest.Config{})
	for _, row := range []struct {
		types []string
		code  int
		body  string
	}{
		{nil, 415, failure(415, "expected 1 Content-Type, got 0")},
		{[]string{"text/plain"}, 415, failure(415, "only acceptable Content-Type is application/json")},
		{[]string{"application/json", "application/json"}, 415, failure(415, "expected 1 Content-Type, got 2")},
		{[]string{"application/json; charset=utf-8"}, 201, ""},
	} {
		r := httptest.NewRequest(http.MethodPut, "/fleet/v1/units/web.service", strings.NewReader(putBody(t, service, "loaded")))
		r.Header["Content-Type"] = row.types
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		assert.Equal(t, row.code, w.Code)
		assert.Equal(t, row.body, strings.TrimSpace(w.Body.String()))
	}
}

// R37: the state of a unit that has none is no answer at all.
func TestAPIStateOfNone(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { b.ask(http.MethodGet, "/fleet/v1/state/web.service", "") })
}

// R37: filters of /state.
func TestAPIStateFilters(t *testing.T) {
	b := newBench(t, fleettest.Config{Machines: fleettest.DefaultMachines(2)})
	b.put("a.service", service, "loaded")
	b.put("b.service", service, "loaded")
	b.put("g.service", service+"[X-Fleet]\nGlobal=true\n", "loaded")
	for query, want := range map[string]int{
		"": 4, "?unitName=g.service": 2, "?machineID=" + ids(2)[0]: 2,
		"?unitName=g.service&machineID=" + ids(2)[1]: 1, "?unitName=a.service&machineID=" + ids(2)[1]: 0,
	} {
		code, body := b.ask(http.MethodGet, "/fleet/v1/state"+query, "")
		require.Equal(t, http.StatusOK, code)
		assert.Equal(t, want, strings.Count(body, `"hash"`), query)
	}
}
