package parity

import (
	"strings"

	"github.com/squadronctl/squadron/integration/cluster"
)

// calls are all calls by hand, in their order: each finds what those before it have left.
func calls() []call {
	var all []call
	for _, some := range [][]call{
		lifeCalls(), nameCalls(), templateCalls(), bodyCalls(), optionCalls(), listCalls(), machineCalls(), unreadableCalls(),
	} {
		all = append(all, some...)
	}
	return all
}

// lifeCalls are what becomes of units that are created, changed, replaced and destroyed.
func lifeCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	add(getCall("/units"), getCall("/state"), getCall("/units/a.service"),
		putCall("a.service", putUnit("inactive", sleepA)), getCall("/units/a.service"),
		putCall("a.service", `{"desiredState":"inactive"}`),
		putCall("a.service", `{}`),
		putCall("a.service", putUnit("inactive", sleepA)),
		putCall("a.service", putUnit("inactive", "Service.ExecStart=/bin/sleep 2")), getCall("/units/a.service"),
		putCall("a.service", putUnit("inactive", "Service.ExecStart=/bin/sleep 2", "X-Fleet.Global=true", "X-Fleet.MachineID=x")), getCall("/units/a.service"),
		deleteCall("a.service"), deleteCall("a.service"), getCall("/units/a.service"),
		putCall("b.service", putUnit("", sleepA)), getCall("/units/b.service"), deleteCall("b.service"),
		putCall("b.service", `{"name":"b.service","desiredState":"inactive","options":`+options(sleepA)+`}`), deleteCall("b.service"),
		putCall("b.service", `{"name":"c.service","desiredState":"inactive","options":`+options(sleepA)+`}`),
		putCall("b.service", `{"desiredState":"loaded"}`), putCall("b.service", `{"desiredState":"launched"}`), putCall("b.service", `{}`),
		putCall("b.service", `{"desiredState":"inactive","options":[]}`),
		putCall("b.service", putUnit("running", sleepA)), getCall("/units/b.service"), putCall("b.service", `{"desiredState":"running"}`), getCall("/units/b.service"), deleteCall("b.service"),
		putCall("b.service", `{"desiredState":"inactive","options":`+options(sleepA)+`,"currentState":"launched","machineID":"zz","extra":1}`), getCall("/units/b.service"), deleteCall("b.service"))
	return all
}

// nameCalls are unit names, good and bad.
func nameCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	for _, name := range []string{"web", "web.", "web.exe", "web@1.mount", "web@1.timer", "we%20b.service", "w%2520b.service", "@1.service",
		strings.Repeat("x", 300) + ".service", strings.Repeat("x", 248) + ".service", `srv-a%5Cx2db@1.service`, "ovs@10.0.0.7.service", "a:b_c-D.service",
		"a:b_c-D.automount", "x.busname", "x.scope", "x@1.path", "x@1.target", "double@@1.service", "u%40x%401.service", "web@.service", ".service", "-.service", "é.service", "a%2Fb.service", "a+b.service", "a%00b.service", "a.b.c.service", "x.service.d", "X.SERVICE"} {
		add(putCall(name, putUnit("inactive", sleepA)), getCall("/units/"+name), deleteCall(name))
	}
	return all
}

// templateCalls are what a template is refused.
func templateCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	add(putCall("t@.service", putUnit("inactive", sleepA)), putCall("t@.service", `{"desiredState":"launched"}`), putCall("t@.service", `{"desiredState":"loaded"}`),
		putCall("t@.service", `{"desiredState":"inactive"}`), putCall("t@.service", putUnit("launched", sleepA)), deleteCall("t@.service"))
	return all
}

// bodyCalls are bodies that are none, or not what they are said to be.
func bodyCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	add(call{"PUT", base + "/units/b.service", putUnit("inactive", sleepA), "-"}, call{"PUT", base + "/units/b.service", putUnit("inactive", sleepA), "text/plain"},
		call{"PUT", base + "/units/b.service", putUnit("inactive", sleepA), "application/json; charset=utf-8"}, deleteCall("b.service"),
		call{"PUT", base + "/units/b.service", putUnit("inactive", sleepA), "application/JSON"}, deleteCall("b.service"),
		putCall("b.service", `{"name":`), call{"PUT", base + "/units/b.service", "", "application/json"}, putCall("b.service", `[]`), putCall("b.service", `"x"`), putCall("b.service", `{"options":{}}`),
		putCall("b.service", `{"options":[{"section":1}]}`), putCall("b.service", `{} trailing`), putCall("b.service", putUnit("inactive", sleepA)+` trailing`), deleteCall("b.service"),
		putCall("b.service", `null`))
	return all
}

// optionCalls are options, those that exclude one another and those that are odd.
func optionCalls() []call {
	long := strings.Repeat("x", 2100)
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	for _, lines := range [][]string{
		{"Service.Y=" + long}, {"Service.Y=a\nb"}, {"Service.Y=a\\\nb"}, {"Service.Y=" + long[:1500] + "\\\n" + long[:1500]}, {".X=1"}, {"Service.=1"}, {"Service.Y="}, {"Service.Y= a "},
		{"Service.Y=" + long[:2045]}, {"Service.Y=" + long[:2046]}, {"Service.Y=" + long[:2047]}, {"Service.Y=a\r"}, {"Service.Y=a\\"}, {"Service.Y=é"}, {"Ser]vice.Y=1"}, {"Service.#Y=1"}, {"Service.Y=#c"}, {"Service.Y=;c"},
		{"X-Fleet.MachineID=x", "X-Fleet.MachineOf=b.service"}, {"X-Fleet.MachineID=x", "X-Fleet.Conflicts=b"}, {"X-Fleet.MachineID=x", "X-Fleet.Global=true"},
		{"X-Fleet.MachineID=x", "X-Fleet.Replaces=b"}, {"X-Fleet.MachineID=x", "X-Fleet.MachineMetadata=a=b"}, {"X-Fleet.Global=true", "X-Fleet.MachineOf=b.service"}, {"X-Fleet.Global=true", "X-Fleet.Conflicts=b"},
		{"X-Fleet.Global=true", "X-Fleet.Replaces=b"}, {"X-Fleet.Conflicts=c", "X-Fleet.Replaces=b"}, {"X-Fleet.MachineOf=b.service", "X-Fleet.Conflicts=b.*"},
		{"X-Fleet.MachineOf=b.service", "X-Fleet.Replaces=b.*"}, {"X-Fleet.Nonsense=1"}, {"X-Fleet.MachineMetadata=nonsense"}, {"X-Fleet.MachineMetadata=\"a=b\" \"c=d\""}, {"X-Fleet.Global=maybe"},
		{"X-Fleet.Global=TRUE", "X-Fleet.Replaces=b"}, {"X-Fleet.Global=yes", "X-Fleet.Replaces=b"}, {"X-Fleet.Conflicts=[", "X-Fleet.MachineOf=b"}, {"X-Fleet.X-ConditionMachineID=x", "X-Fleet.Global=true"}, {"X-Fleet.X-Conflicts=c", "X-Fleet.Replaces=c"},
		{"X-Fleet.ConditionMachineID=x", "X-Fleet.Global=true"}, {"X-Fleet.MachineID=", "X-Fleet.Global=true"}, {"X-Fleet.X-ConditionMachineOf=b.service", "X-Fleet.Global=true"}, {"X-Fleet.Conflicts=a b", "X-Fleet.MachineOf=b"},
		{"X-Fleet.MachineID=x", "X-Fleet.MachineID=y"}, {"X-Fleet.Global=true", "X-Fleet.Global=false", "X-Fleet.Replaces=b"}, {"X-Fleet.Global=false", "X-Fleet.Global=true", "X-Fleet.Replaces=b"},
		{"X-Fleet.MachineOf=a.service", "X-Fleet.Conflicts=a.service"}, {"X-Fleet.Conflicts=%n", "X-Fleet.MachineOf=a.service"}, {"X-Fleet.Conflicts=%p.*", "X-Fleet.MachineOf=a.service"},
	} {
		add(putCall("a.service", putUnit("inactive", lines...)), getCall("/units/a.service"), deleteCall("a.service"))
	}
	return all
}

// listCalls are pages, filters, and paths and methods that there are not.
func listCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	add(getCall("/units/"), getCall("/units/a/b.service"), getCall("/state/"), getCall("/state/none.service"), getCall("/state?unitName=none.service"), getCall("/state?machineID=none"), getCall("/state?unitName="),
		getCall("/units?nextPageToken=xxx"), getCall("/units?nextPageToken=AAAA"), getCall("/units?nextPageToken=ZAABAA%3D%3D"), getCall("/units?nextPageToken=ZAAAAA%3D%3D"), getCall("/units?nextPageToken=MgABAA%3D%3D"), getCall("/units?nextPageToken=AAABAA%3D%3D"),
		getCall("/units?nextPageToken=ZAABAA"), getCall("/units?nextPageToken="), getCall("/units?nextPageToken=ZAABAA%3D%3D&nextPageToken=ZAABAA%3D%3D"), getCall("/state?nextPageToken=xxx"), getCall("/machines?nextPageToken=xxx"), getCall("/machines?nextPageToken=ZAACAA%3D%3D"), getCall("/state?nextPageToken=ZAACAA%3D%3D"),
		getCall("/machines/"), getCall("/machines/x"), getCall("/discovery"), getCall("/discovery/"), getCall(""), getCall("/"), getCall("/nope"), call{"GET", "/", "", ""}, call{"GET", "/x", "", ""}, call{"GET", "/v1-alpha/units", "", ""}, call{"GET", "/v1-alpha/units/a.service", "", ""}, call{"GET", "/metrics", "", ""},
		getCall("//units"), getCall("/units/../units"), getCall("/units/./a.service"))
	for _, path := range []string{"/units", "/units/a.service", "/state", "/state/a.service", "/machines", "/discovery", ""} {
		for _, method := range []string{"POST", "PATCH", "HEAD", "OPTIONS", "PUT", "DELETE"} {
			if path == "/units/a.service" && (method == "PUT" || method == "DELETE") || path == "/machines" && method == "PATCH" {
				continue
			}
			add(call{method, base + path, "", ""})
		}
	}
	return all
}

// machineCalls are changes of machines' metadata.
func machineCalls() []call {
	var all []call
	add := func(more ...call) { all = append(all, more...) }
	id := cluster.IDOf(1)
	patch := func(text string) call { return call{"PATCH", base + "/machines", text, ""} }
	add(getCall("/machines"),
		patch(`[{"op":"add","path":"/`+id+`/metadata/rack","value":{"value":"r1"}}]`), getCall("/machines"),
		patch(`[{"op":"add","path":"/`+id+`/metadata/rack","value":"r2"}]`), getCall("/machines"),
		patch(`[{"op":"replace","path":"/`+id+`/metadata/rack","value":{"value":"r3"}}]`), getCall("/machines"),
		patch(`[{"op":"remove","path":"/`+id+`/metadata/rack"}]`), getCall("/machines"),
		patch(`[{"op":"remove","path":"/`+id+`/metadata/none"}]`), patch(`[{"op":"move","path":"/`+id+`/metadata/none"}]`), patch(`[{"op":"add","path":"/`+id+`/none"}]`), patch(`[{"op":"add","path":"/`+id+`/metadata/x"}]`),
		patch(`[{"op":"add","path":"/`+id+`/metadata/x y","value":{"value":"1"}}]`), patch(`[{"op":"remove","path":"/nobody/metadata/x"}]`), patch(`{}`), patch(`[]`), patch(``), patch(`[{"op":"add","path":"","value":{"value":"1"}}]`), getCall("/machines"))
	return all
}

// unreadableCalls leave units that a fleetd can't read back, nor remove.
func unreadableCalls() []call {
	var all []call
	for name, spoil := range map[string]string{"unknown.service": desire("running"), "newline.service": putUnit("inactive", "Service.Y=a\nb")} {
		all = append(all, putCall(name, putUnit("inactive", sleepA)), putCall(name, spoil), getCall("/units/"+name), getCall("/units"),
			putCall(name, desire("inactive")), putCall(name, putUnit("inactive", sleepA)), deleteCall(name), getCall("/state?unitName="+name))
	}
	return all
}
