package compose

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
)

// projectModel is a manifest as the library for compose files reads it.
type projectModel = types.Project

// project has the manifest read against the compose specification. nil means that it was refused.
//
// The library has no access to files, nor to the environment: what needs those is refused before, or read elsewhere. It gives
// no lines, so that what it refuses is looked for.
func project(root *node, found *faults) *projectModel {
	model, _ := root.plain().(map[string]any)
	made, err := readModel(model)
	if err == nil {
		return made
	}
	message := strings.TrimPrefix(preamble.ReplaceAllString(err.Error(), ""), "services.")
	found.add(blame(root), "%.500s", message)
	return nil
}

// preamble is what the library says before it comes to the matter.
var preamble = regexp.MustCompile(`^(validating \S+: |decoding failed due to the following error\(s\):\s*)`)

// readModel has the library read values. It does not change them.
func readModel(model map[string]any) (*types.Project, error) {
	model = forLibrary(model)
	details := types.ConfigDetails{
		WorkingDir:  "/",
		ConfigFiles: []types.ConfigFile{{Filename: "manifest", Config: model}},
		Environment: types.Mapping{},
	}
	return loader.LoadWithContext(context.Background(), details, func(o *loader.Options) {
		o.SetProjectName("stack", true)
		o.ResolvePaths = false
		o.SkipInclude, o.SkipExtends = true, true
		o.SkipNormalization, o.SkipDefaultValues, o.SkipConsistencyCheck = true, true, true
		o.SkipResolveEnvironment, o.SkipResolveLabels = true, true
		// The variables are in already, and what a text stands for.
		o.Interpolate.Substitute = func(text string, _ template.Mapping) (string, error) { return text, nil }
		o.Interpolate.TypeCastMapping = nil
	})
}

// aside says whether a key of the manifest as a whole is not for the library: the name is checked here, and the version means nothing.
func aside(key string) bool { return key == "version" || key == "name" }

// forLibrary makes of a model what the library knows: no content of secrets, and no external with a name in it, which it warns of
// where nobody has asked for a warning; and no short syntax of ports and volumes, which is read one by one elsewhere. It does
// not change the model.
func forLibrary(model map[string]any) map[string]any {
	made := map[string]any{}
	for key, value := range model {
		if aside(key) {
			continue
		}
		made[key] = value
		all, ok := value.(map[string]any)
		if !ok {
			continue
		}
		if key == "services" {
			made[key] = each(all, serviceForLibrary)
		}
		if slices.Contains([]string{"networks", "configs", "secrets", "volumes"}, key) {
			made[key] = each(all, func(one any) any { return resourceForLibrary(one, key == "secrets") })
		}
	}
	return made
}

// each makes another mapping, value by value.
func each(of map[string]any, change func(any) any) map[string]any {
	made := make(map[string]any, len(of))
	for name, one := range of {
		made[name] = change(one)
	}
	return made
}

func serviceForLibrary(one any) any {
	of, ok := one.(map[string]any)
	if !ok {
		return one
	}
	made := maps.Clone(of)
	for _, key := range []string{"ports", "volumes"} {
		if all, ok := of[key].([]any); ok {
			made[key] = slices.DeleteFunc(slices.Clone(all), func(item any) bool {
				_, isLong := item.(map[string]any)
				return !isLong && item != nil
			})
		}
	}
	return made
}

func resourceForLibrary(one any, isSecret bool) any {
	of, ok := one.(map[string]any)
	if !ok {
		return one
	}
	made := maps.Clone(of)
	if external, ok := of["external"].(map[string]any); ok && len(external) < 2 {
		made["external"] = true
	}
	if _, ok := of["content"].(string); ok && isSecret {
		delete(made, "content")
		made["file"] = "content"
	}
	return made
}

// blame finds the line of what the library refuses: the smallest part that it refuses also when all beside it is left out.
func blame(root *node) int {
	s := &search{tries: 300}
	kept := *root
	kept.fields = slices.DeleteFunc(slices.Clone(root.fields), func(f field) bool { return aside(f.key) })
	return s.within(&kept, root.line, func(part any) any { return part })
}

// search tries parts of a manifest, as many as it may.
type search struct{ tries int }

func (s *search) refuses(part any) bool {
	if s.tries--; s.tries < 0 {
		return false
	}
	model, _ := part.(map[string]any)
	_, err := readModel(model)
	return err != nil
}

// within looks further in a part that is refused; as makes a manifest of what is given in its place.
func (s *search) within(at *node, line int, as func(any) any) int {
	fields := narrow(at.fields, func(some []field) bool { return s.refuses(as((&node{kind: mapping, fields: some}).plain())) })
	if len(fields) == 1 {
		f := fields[0]
		if f.value.kind != scalar && s.refusesKey(f.key, as) {
			return f.line
		}
		return s.within(f.value, f.line, func(part any) any { return as(map[string]any{f.key: part}) })
	}
	items := narrow(at.items, func(some []*node) bool { return s.refuses(as((&node{kind: list, items: some}).plain())) })
	if len(items) == 1 {
		return s.within(items[0], items[0].line, func(part any) any { return as([]any{part}) })
	}
	return line
}

// refusesKey says whether a key is refused whatever its value is.
func (s *search) refusesKey(key string, as func(any) any) bool {
	for _, value := range []any{nil, map[string]any{}, []any{}} {
		if !s.refuses(as(map[string]any{key: value})) {
			return false
		}
	}
	return true
}

// narrow halves some parts as long as one half is refused: so one is left where it is one that is refused by itself.
func narrow[T any](some []T, refuses func([]T) bool) []T {
	if len(some) == 1 && !refuses(some) {
		return nil
	}
	for len(some) > 1 {
		half := len(some) / 2
		switch {
		case refuses(some[:half]):
			some = some[:half]
		case refuses(some[half:]):
			some = some[half:]
		default:
			return nil
		}
	}
	return some
}
