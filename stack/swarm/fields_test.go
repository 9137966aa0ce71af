package swarm

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
)

// TestEachPartOfASpecIsCompared changes each part of a spec alone, and sees it in the fields.
func TestEachPartOfASpecIsCompared(t *testing.T) {
	var unseen []string
	eachLeaf(reflect.TypeFor[swarm.ServiceSpec](), "", func(v reflect.Value) reflect.Value { return v }, func(path string, at func(reflect.Value) reflect.Value) {
		base, changed := &swarm.ServiceSpec{}, &swarm.ServiceSpec{}
		at(reflect.ValueOf(base).Elem())
		fill(at(reflect.ValueOf(changed).Elem()))
		if fieldsOf(base).equal(fieldsOf(changed)) {
			unseen = append(unseen, path)
		}
	})
	assert.Equal(t, []string{
		"Annotations.Name",
		// An ID says no more than the name does; Swarm keeps both.
		"TaskTemplate.ContainerSpec.Secrets.SecretID",
		"TaskTemplate.ContainerSpec.Configs.ConfigID",
		"TaskTemplate.Placement.Platforms.Architecture",
		"TaskTemplate.Placement.Platforms.OS",
		"TaskTemplate.ForceUpdate",
		"TaskTemplate.Runtime",
	}, unseen)
}

// eachLeaf goes over all parts of a type that have no parts themselves. at finds a part in a value, and makes what is on the way.
func eachLeaf(t reflect.Type, path string, at func(reflect.Value) reflect.Value, found func(path string, at func(reflect.Value) reflect.Value)) {
	switch {
	case t == reflect.TypeFor[netip.Addr]():
		found(path, at)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			name := t.Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			eachLeaf(t.Field(i).Type, name, func(v reflect.Value) reflect.Value { return at(v).Field(i) }, found)
		}
	case t.Kind() == reflect.Pointer:
		eachLeaf(t.Elem(), path, func(v reflect.Value) reflect.Value {
			pointer := at(v)
			if pointer.IsNil() {
				pointer.Set(reflect.New(t.Elem()))
			}
			return pointer.Elem()
		}, found)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		eachLeaf(t.Elem(), path, func(v reflect.Value) reflect.Value {
			list := at(v)
			if list.Len() == 0 {
				list.Set(reflect.MakeSlice(t, 1, 1))
			}
			return list.Index(0)
		}, found)
	default:
		found(path, at)
	}
}

// fill sets a part to something that is nobody's default.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[netip.Addr]():
		v.Set(reflect.ValueOf(netip.MustParseAddr("192.0.2.1")))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	case v.CanUint():
		v.SetUint(7)
	case v.CanFloat():
		v.SetFloat(0.5)
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"x": "y"}))
	case v.Kind() == reflect.Slice:
		v.SetBytes([]byte("x"))
	default:
		panic(fmt.Sprintf("a %s can't be filled", v.Type()))
	}
}

// What Swarm fills in by itself is the same as nothing.
func TestDefaultsHaveNoField(t *testing.T) {
	init, yes, one, none := 5*time.Second, 10*time.Second, uint64(1), uint64(0)
	filled := swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: "web_app", Labels: map[string]string{labelNamespace: "web", labelOwner: "ops", labelRevision: "1"}},
		Mode:        swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &one}},
		UpdateConfig: &swarm.UpdateConfig{
			Parallelism: 1, FailureAction: swarm.UpdateFailureActionPause, Monitor: 5 * time.Second, Order: swarm.UpdateOrderStopFirst,
		},
		RollbackConfig: &swarm.UpdateConfig{Parallelism: 1},
		EndpointSpec:   &swarm.EndpointSpec{Mode: swarm.ResolutionModeVIP},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{
				Image: "web:latest", StopGracePeriod: &yes, DNSConfig: &swarm.DNSConfig{}, Isolation: container.IsolationDefault,
				Privileges: &swarm.Privileges{}, Healthcheck: &container.HealthConfig{}, Secrets: []*swarm.SecretReference{},
				Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "v", Target: "/v", VolumeOptions: &mount.VolumeOptions{}}},
			},
			Resources:     &swarm.ResourceRequirements{Limits: &swarm.Limit{}, Reservations: &swarm.Resources{}},
			RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionAny, Delay: &init, MaxAttempts: &none},
			Placement:     &swarm.Placement{Platforms: []swarm.Platform{{OS: "linux"}}},
			LogDriver:     nil, ForceUpdate: 3, Runtime: swarm.RuntimeContainer,
		},
	}
	written := swarm.ServiceSpec{TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{
		Image: "web", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "v", Target: "/v"}},
	}}}
	assert.Equal(t, fieldsOf(&written), fieldsOf(&filled))
	assert.Equal(t, fields{"image": "web:latest", "mode": "replicated", "replicas": "1", "mounts[0]": "volume v:/v"}, fieldsOf(&written))
}

func TestFieldsOfPorts(t *testing.T) {
	spec := swarm.ServiceSpec{EndpointSpec: &swarm.EndpointSpec{Ports: []swarm.PortConfig{
		{TargetPort: 80, PublishedPort: 8080}, {TargetPort: 53, Protocol: "udp", PublishMode: swarm.PortConfigPublishModeHost},
	}}}
	turned := swarm.ServiceSpec{EndpointSpec: &swarm.EndpointSpec{Ports: slices.Clone(spec.EndpointSpec.Ports)}}
	slices.Reverse(turned.EndpointSpec.Ports)
	assert.Equal(t, fields{
		"mode": "replicated", "replicas": "1", "ports[0]": "any:53/udp host", "ports[1]": "8080:80/tcp ingress",
	}, fieldsOf(&spec))
	assert.Equal(t, fieldsOf(&spec), fieldsOf(&turned))
}

// An image is compared as Docker keeps it.
func TestTagged(t *testing.T) {
	for image, want := range map[string]string{
		"web":                         "web:latest",
		"docker.io/library/web":       "web:latest",
		"web:1":                       "web:1",
		"registry.example:5000/a/web": "registry.example:5000/a/web:latest",
		"no image":                    "no image",
	} {
		assert.Equal(t, want, tagged(image))
	}
}
