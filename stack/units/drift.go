package units

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// The fields of a service that are not options of its unit file.
const (
	fieldSlices = "slices"
	fieldState  = "state"
)

// changedLooks is how often a stack is looked at that changes while it is read.
const changedLooks = 3

// DesiredServices implements capability.LiveDrift. The services are by unit base, and their fields are
//
//   - Section.Option[0], Section.Option[1], …: the unit file's options, in their order. The stamp is not among them, nor are
//     comments;
//   - slices: how many there are, of a group with slices. Where the manifest leaves that open it is as many as there are,
//     for which the cluster is looked at;
//   - state: launched, where all copies are to run.
//
// A bad manifest is a *stack.ManifestError.
func (e *Engine) DesiredServices(ctx context.Context, manifest, stackName string) (*stack.Stack, error) {
	const operation = "read what stack %.256q declares"
	declared, err := parseFor(manifest, stackName)
	if err != nil {
		return nil, errmask.Maskf(err, operation, stackName)
	}
	count := declared.Slices
	if count == 0 && declared.sliced() {
		found, err := e.lookAtStack(ctx, stackName)
		if err != nil {
			return nil, errmask.Maskf(err, operation, stackName)
		}
		count = declared.wantedSlices(found)
	}
	desired := &stack.Stack{Name: stackName, Services: map[string]stack.Service{}}
	for _, unit := range declared.Units {
		options, err := optionsOf(unit.Content)
		if err != nil {
			return nil, errmask.Maskf(err, operation, stackName)
		}
		fields := fieldsOf(options)
		fields[fieldState] = desiredLaunched
		if declared.sliced() {
			fields[fieldSlices] = strconv.Itoa(count)
		}
		desired.Services[unit.Name] = stack.Service{Fields: fields}
	}
	return desired, nil
}

// DeclaredResources implements capability.DeclaredLister. It looks at nothing, and leaves the fields empty.
func (e *Engine) DeclaredResources(_ context.Context, manifest, stackName string) (*stack.Stack, error) {
	declared, err := parseFor(manifest, stackName)
	if err != nil {
		return nil, errmask.Maskf(err, "read what stack %.256q declares", stackName)
	}
	resources := &stack.Stack{Name: stackName, Services: map[string]stack.Service{}}
	for base := range declared.bases() {
		resources.Services[base] = stack.Service{}
	}
	return resources, nil
}

// parseFor reads a manifest as that of the stack of this name.
func parseFor(manifest, name string) (Manifest, error) {
	declared, err := ParseManifest(manifest)
	if err == nil {
		err = declared.CheckName(name)
	}
	return declared, err
}

// LiveServices implements capability.LiveDrift: all units that carry the stack's stamp, whoever owns them, with the fields that
// DesiredServices tells of. Where the slices differ in a field, it says of each value which slices have it. A service's ID is
// that for RemoveService. Contents are read once for each hash, so a look at what has not changed costs one listing.
func (e *Engine) LiveServices(ctx context.Context, stackName string) (map[string]stack.Service, error) {
	live, err := e.liveStacks(ctx, []string{stackName})
	if err != nil {
		return nil, errmask.Maskf(err, "read what there is of stack %.256q", stackName)
	}
	return live[stackName], nil
}

// LiveStacks is LiveServices for many stacks in one look at the cluster (reconcile.DriftReader). With a nil error each of the names
// is in the map, a stack that is not there with an empty one; with an error none is.
func (e *Engine) LiveStacks(ctx context.Context, names []string) (map[string]map[string]stack.Service, error) {
	live, err := e.liveStacks(ctx, names)
	return live, errmask.Maskf(err, "read what there is of %d stacks", len(names))
}

func (e *Engine) liveStacks(ctx context.Context, names []string) (map[string]map[string]stack.Service, error) {
	for _, name := range names {
		if err := checkStackName(name); err != nil {
			return nil, err
		}
	}
	live := make(map[string]map[string]stack.Service, len(names))
	if len(names) == 0 {
		return live, nil
	}
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			e = e.anew()
		}
		found, err := e.look(ctx, fleet.Selector{Groups: names})
		if err != nil {
			return nil, err
		}
		byStack := byStackOf(found, names)
		texts, err := e.contents.of(ctx, slices.Concat(slices.Collect(maps.Values(byStack))...))
		if err == nil {
			for _, name := range names {
				live[name] = liveServices(name, byStack[name], texts)
			}
			return live, nil
		}
		if attempt == changedLooks || !errmask.Has(err, errChanged) {
			return nil, err
		}
	}
}

// byStackOf sorts units by the stacks whose stamps they carry, as far as those are asked for.
func byStackOf(found []fleet.UnitDetail, names []string) map[string][]fleet.UnitDetail {
	byStack := make(map[string][]fleet.UnitDetail, len(names))
	for _, name := range names {
		byStack[name] = nil
	}
	for _, detail := range found {
		if units, asked := byStack[detail.Group]; asked && detail.Stamped {
			byStack[detail.Group] = append(units, detail)
		}
	}
	return byStack
}

// liveServices sorts the units of a stack into services.
func liveServices(name string, found []fleet.UnitDetail, texts map[string][]option) map[string]stack.Service {
	byBase := map[string][]fleet.UnitDetail{}
	for _, detail := range found {
		base := baseOf(detail.Name)
		byBase[base] = append(byBase[base], detail)
	}
	services := map[string]stack.Service{}
	for base, copies := range byBase {
		fields := liveFields(copies, texts)
		fields[fieldState] = stateOf(copies)
		if isTemplate(base) {
			fields[fieldSlices] = strconv.Itoa(len(copies))
		}
		services[base] = stack.Service{ID: serviceID{name, base, ownerOf(copies)}.String(), Fields: fields}
	}
	return services
}

// ownerOf gives who owns all of these units, and nobody where they are not of one owner.
func ownerOf(copies []fleet.UnitDetail) string {
	for _, detail := range copies {
		if detail.Owner != copies[0].Owner {
			return ""
		}
	}
	return copies[0].Owner
}

// stateOf says what the copies of a service are to do.
func stateOf(copies []fleet.UnitDetail) string {
	launched := 0
	for _, detail := range copies {
		if detail.Desired == desiredLaunched {
			launched++
		}
	}
	switch launched {
	case len(copies):
		return desiredLaunched
	case 0:
		return copies[0].Desired
	}
	return fmt.Sprintf("%d of %d launched", launched, len(copies))
}

// fieldsOf names the options of a unit file, without the stamp.
func fieldsOf(options []option) map[string]string {
	fields, counts := map[string]string{}, map[string]int{}
	for _, o := range options {
		if o.section == stampSection {
			continue
		}
		fields[fmt.Sprintf("%s[%d]", o.key(), counts[o.key()])] = o.value
		counts[o.key()]++
	}
	return fields
}

// liveFields gives the options of all copies of a service.
func liveFields(copies []fleet.UnitDetail, texts map[string][]option) map[string]string {
	byHash := map[string][]string{} // the slices that have a content
	for _, detail := range copies {
		_, id := splitName(detail.Name)
		byHash[detail.Hash] = append(byHash[detail.Hash], id)
	}
	if len(byHash) == 1 {
		return fieldsOf(texts[copies[0].Hash])
	}
	contents := map[string]map[string]string{}
	names := map[string]bool{}
	for hash := range byHash {
		contents[hash] = fieldsOf(texts[hash])
		for name := range contents[hash] {
			names[name] = true
		}
	}
	fields := map[string]string{}
	for name := range names {
		fields[name] = valueOver(name, byHash, contents)
	}
	return fields
}

// valueOver gives the value of a field over all slices, or which slices have which.
func valueOver(name string, byHash map[string][]string, contents map[string]map[string]string) string {
	slicesOf := map[string][]string{} // by what they have
	for hash, ids := range byHash {
		has := "nothing"
		if value, there := contents[hash][name]; there {
			has = strconv.Quote(value)
		}
		slicesOf[has] = append(slicesOf[has], ids...)
	}
	if len(slicesOf) == 1 {
		for hash := range byHash {
			return contents[hash][name]
		}
	}
	var parts []string
	for _, has := range slices.Sorted(maps.Keys(slicesOf)) {
		slices.Sort(slicesOf[has])
		parts = append(parts, has+" in "+strings.Join(slicesOf[has], ", "))
	}
	return strings.Join(parts, "; ")
}
