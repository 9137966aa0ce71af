package fleettest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
)

// upgradeRules are about the other upgrades.
func upgradeRules() []backendRule {
	return []backendRule{
		{
			name:  "content",
			why:   "what is read back has the sections and options submitted, in their order, in the serialisation that is hashed",
			has:   isContentReader,
			check: checkContent,
		}, {
			name:  "content of absent unit",
			why:   "only IsUnitNotFound tells a unit that is not there from one that could not be asked about",
			has:   isContentReader,
			check: checkContentAbsent,
		}, {
			name:  "content with ended context",
			why:   "a caller whose context has ended finds the context's error in the chain, and does not try again",
			has:   isContentReader,
			check: checkContentEnded,
		}, {
			name:  "machines",
			why:   "machines are told once each, sorted by ID, and a unit that runs is on one of them",
			has:   isMachineReader,
			check: checkMachines,
		}, {
			name:  "machines with ended context",
			why:   "a caller whose context has ended finds the context's error in the chain, and does not try again",
			has:   isMachineReader,
			check: checkMachinesEnded,
		}, {
			name:  "submit launched",
			why:   "one write does what Submit followed by Start does in two, for a new unit and for one that is replaced",
			has:   isLauncher,
			check: checkLaunch,
		}, {
			name:  "submit launched refused",
			why:   "it refuses what Submit refuses, in the same classes",
			has:   isLauncher,
			check: checkLaunchRefused,
		},
	}
}

func isContentReader(backend fleet.Fleet) bool { _, ok := backend.(fleet.ContentReader); return ok }
func isMachineReader(backend fleet.Fleet) bool { _, ok := backend.(fleet.MachineReader); return ok }
func isLauncher(backend fleet.Fleet) bool      { _, ok := backend.(fleet.Launcher); return ok }

func (r *ruleRun) readContent(ctx context.Context, name string) (string, error) {
	return r.backend.(fleet.ContentReader).ReadContent(ctx, name)
}

// checkContent submits two contents, one after the other, with comments and with options that repeat.
func checkContent(r *ruleRun) {
	name := r.unit("@1.service")
	for n := range 2 {
		content := "# a comment\n\n" + r.content(n) + "Again=a\nAgain=b\n; another\n"
		want, err := canonical(content)
		if !r.ok("read BackendOptions.Content", err) || !r.submit(name, content) {
			return
		}
		r.eventually(func() (bool, string) {
			got, err := r.readContent(r.ctx, name)
			return err == nil && got == want, fmt.Sprintf("of %q it reads %q (%v), not %q", content, got, err, want)
		})
	}
}

// canonical is a unit file's text as it is hashed.
func canonical(content string) (string, error) {
	file, err := readUnitFile(content)
	return file.content, err
}

func checkContentAbsent(r *ruleRun) {
	if _, err := r.readContent(r.ctx, r.unit("@1.service")); !fleet.IsUnitNotFound(err) || fleet.IsTemporary(err) {
		r.failf("it gives %v, which has to be of IsUnitNotFound and not of IsTemporary", err)
	}
}

func checkContentEnded(r *ruleRun) {
	name := r.unit("@1.service")
	if r.submit(name, r.content(1)) {
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		_, err := r.readContent(ctx, name)
		r.endedAs("ReadContent", err)
	}
}

func checkMachines(r *ruleRun) {
	name, ok := r.running("@1.service")
	if !ok {
		return
	}
	r.eventually(func() (bool, string) {
		machines, err := r.backend.(fleet.MachineReader).ReadMachines(r.ctx)
		if err != nil {
			return false, fmt.Sprintf("read machines: %v", err)
		}
		status, err := r.backend.GetStatus(r.ctx, name)
		if err != nil || len(status.Machine) == 0 {
			return false, fmt.Sprintf("%s is on no machine: %v", name, err)
		}
		strictly := func(a, b fleet.Machine) bool { return strings.Compare(a.ID, b.ID) < 0 }
		for i := 1; i < len(machines); i++ {
			if !strictly(machines[i-1], machines[i]) {
				return false, fmt.Sprintf("machines are not told once each and sorted by ID: %+v", machines)
			}
		}
		on := status.Machine[0]
		at := slices.IndexFunc(machines, func(m fleet.Machine) bool { return m.ID == on.ID })
		return at >= 0 && machines[at].IP.Equal(on.IP), fmt.Sprintf("%s is on machine %+v, which is none of %+v", name, on, machines)
	})
}

func checkMachinesEnded(r *ruleRun) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	_, err := r.backend.(fleet.MachineReader).ReadMachines(ctx)
	r.endedAs("ReadMachines", err)
}

func (r *ruleRun) launch(ctx context.Context, name, content string) error {
	return r.backend.(fleet.Launcher).SubmitLaunched(ctx, name, content)
}

func checkLaunch(r *ruleRun) {
	name := r.unit("@1.service")
	for n := range 2 {
		if !r.ok("submit launched "+name, r.launch(r.ctx, name, r.content(n))) {
			return
		}
		r.becomes(name, "reported with the hash of its content", hasHash(r.hash(r.content(n))))
		r.becomes(name, "launched and active", is(launched, true))
	}
}

func checkLaunchRefused(r *ruleRun) {
	if err := r.launch(r.ctx, "no-suffix", r.content(1)); !fleet.IsInvalidRequest(err) {
		r.failf("unit name %q gives %v, which is not of IsInvalidRequest", "no-suffix", err)
	}
	name := r.unit("@1.service")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.endedAs("SubmitLaunched", r.launch(ctx, name, r.content(1)))
	if _, err := r.backend.GetStatus(r.ctx, name); !fleet.IsUnitNotFound(err) {
		r.failf("the unit submitted with a context that had ended is there (%v)", err)
	}
}
