package fleettest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// tampered is a backend whose every operation can be another.
type tampered struct {
	*fleet.DummyFleet
	submit, launch       func(ctx context.Context, name, content string) error
	start, stop, destroy func(ctx context.Context, name string) error
	get                  func(ctx context.Context, name string) (fleet.UnitStatus, error)
	match                func(func(string) bool) ([]fleet.UnitStatus, error)
	read                 func(context.Context, fleet.Selector) (fleet.Listing, error)
	content              func(ctx context.Context, name string) (string, error)
	machines             func(context.Context) ([]fleet.Machine, error)
	feed                 feed
	watch                func(context.Context) (<-chan struct{}, error)
	tell                 func() // after each write
}

func newTampered() *tampered {
	d := fleet.NewDummyFleet(fleet.DefaultDummyConfig())
	f := &tampered{DummyFleet: d, submit: d.Submit, launch: d.SubmitLaunched, start: d.Start, stop: d.Stop, destroy: d.Destroy,
		get: d.GetStatus, match: d.GetStatusWithMatcher, read: d.ReadUnits, content: d.ReadContent, machines: d.ReadMachines}
	f.watch, f.tell = f.feed.watch, f.feed.tell
	return f
}

func (f *tampered) Submit(ctx context.Context, name, content string) error {
	defer f.tell()
	return f.submit(ctx, name, content)
}
func (f *tampered) SubmitLaunched(ctx context.Context, name, content string) error {
	defer f.tell()
	return f.launch(ctx, name, content)
}
func (f *tampered) Start(ctx context.Context, name string) error {
	defer f.tell()
	return f.start(ctx, name)
}
func (f *tampered) Stop(ctx context.Context, name string) error {
	defer f.tell()
	return f.stop(ctx, name)
}
func (f *tampered) Destroy(ctx context.Context, name string) error {
	defer f.tell()
	return f.destroy(ctx, name)
}
func (f *tampered) GetStatus(ctx context.Context, name string) (fleet.UnitStatus, error) {
	return f.get(ctx, name)
}
func (f *tampered) GetStatusWithMatcher(m func(string) bool) ([]fleet.UnitStatus, error) {
	return f.match(m)
}
func (f *tampered) ReadUnits(ctx context.Context, s fleet.Selector) (fleet.Listing, error) {
	return f.read(ctx, s)
}
func (f *tampered) ReadContent(ctx context.Context, name string) (string, error) {
	return f.content(ctx, name)
}
func (f *tampered) ReadMachines(ctx context.Context) ([]fleet.Machine, error) { return f.machines(ctx) }
func (f *tampered) WatchUnits(ctx context.Context) (<-chan struct{}, error)   { return f.watch(ctx) }

// told changes what GetStatus tells.
func (f *tampered) told(change func(*fleet.UnitStatus)) {
	f.get = func(ctx context.Context, name string) (fleet.UnitStatus, error) {
		status, err := f.DummyFleet.GetStatus(ctx, name)
		change(&status)
		return status, err
	}
}

// listed changes what ReadUnits tells.
func (f *tampered) listed(change func(fleet.Selector, *fleet.Listing)) {
	f.read = func(ctx context.Context, s fleet.Selector) (fleet.Listing, error) {
		listing, err := f.DummyFleet.ReadUnits(ctx, s)
		change(s, &listing)
		return listing, err
	}
}

// brokenBackends are backends by the rule that they break, each with one thing tampered with.
var brokenBackends = map[string]map[string]func(*tampered){
	"absent unit": {
		"GetStatus of another class": func(f *tampered) {
			f.get = func(ctx context.Context, name string) (fleet.UnitStatus, error) {
				status, err := f.DummyFleet.GetStatus(ctx, name)
				if err != nil {
					err = errors.New(err.Error())
				}
				return status, err
			}
		},
		"Destroy of none succeeds": func(f *tampered) {
			f.destroy = func(ctx context.Context, name string) error { _ = f.DummyFleet.Destroy(ctx, name); return nil }
		},
		"temporary": func(f *tampered) {
			f.stop = func(ctx context.Context, name string) error { return fleet.AsTemporary(f.DummyFleet.Stop(ctx, name)) }
		},
	},
	"bad name": {"taken": func(f *tampered) {
		f.submit = func(ctx context.Context, name, content string) error {
			if err := f.DummyFleet.Submit(ctx, name, content); !fleet.IsInvalidRequest(err) {
				return err
			}
			return nil
		}
	}},
	"submit": {
		"started": func(f *tampered) { f.submit = f.DummyFleet.SubmitLaunched },
		"wrong hash": func(f *tampered) {
			f.told(func(s *fleet.UnitStatus) {
				for i := range s.Machine {
					s.Machine[i].UnitHash = strings.ToUpper(s.Machine[i].UnitHash)
				}
			})
		},
		"refused": func(f *tampered) {
			f.submit = func(context.Context, string, string) error { return errors.New("no space") }
		},
	},
	"start": {"forgotten": func(f *tampered) {
		f.start = func(ctx context.Context, name string) error { _, err := f.DummyFleet.GetStatus(ctx, name); return err }
	}},
	"stop": {"forgotten": func(f *tampered) {
		f.stop = func(ctx context.Context, name string) error { _, err := f.DummyFleet.GetStatus(ctx, name); return err }
	}},
	"submit again": {"still running": func(f *tampered) {
		f.submit = func(ctx context.Context, name, content string) error {
			if before, err := f.DummyFleet.ReadContent(ctx, name); err == nil && strings.Contains(content, strings.TrimSpace(before)) {
				return nil
			}
			return f.DummyFleet.Submit(ctx, name, content)
		}
	}},
	"replace": {"kept": func(f *tampered) {
		f.submit = func(ctx context.Context, name, content string) error {
			if _, err := f.DummyFleet.GetStatus(ctx, name); err == nil {
				return f.DummyFleet.Stop(ctx, name)
			}
			return f.DummyFleet.Submit(ctx, name, content)
		}
	}},
	"destroy": {
		"forgotten": func(f *tampered) {
			f.destroy = func(ctx context.Context, name string) error {
				_, err := f.DummyFleet.GetStatus(ctx, name)
				return err
			}
		},
		"by prefix": func(f *tampered) {
			f.destroy = func(ctx context.Context, name string) error {
				err := f.DummyFleet.Destroy(ctx, name)
				if err == nil {
					_ = f.DummyFleet.Destroy(ctx, strings.Replace(name, "@1.", "@11.", 1))
				}
				return err
			}
		},
	},
	"create again": {"name taken for ever": func(f *tampered) {
		var destroyed sync.Map
		f.destroy = func(ctx context.Context, name string) error {
			err := f.DummyFleet.Destroy(ctx, name)
			destroyed.Store(name, err == nil)
			return err
		}
		f.submit = func(ctx context.Context, name, content string) error {
			if was, _ := destroyed.Load(name); was == true {
				return errors.New("name is in use")
			}
			return f.DummyFleet.Submit(ctx, name, content)
		}
	}},
	"ended context": {
		"ignored by Submit": func(f *tampered) {
			f.submit = func(ctx context.Context, name, content string) error {
				return f.DummyFleet.Submit(context.WithoutCancel(ctx), name, content)
			}
		},
		"told after the deed": func(f *tampered) {
			f.start = func(ctx context.Context, name string) error {
				return errors.Join(f.DummyFleet.Start(context.WithoutCancel(ctx), name), ctx.Err())
			}
		},
		"cause lost": func(f *tampered) {
			f.get = func(ctx context.Context, name string) (fleet.UnitStatus, error) {
				status, err := f.DummyFleet.GetStatus(ctx, name)
				if ctx.Err() != nil {
					err = fmt.Errorf("get status: %v", err)
				}
				return status, err
			}
		},
	},
	"side by side": {
		"one at a time": func(f *tampered) {
			var busy atomic.Int32
			f.match = func(m func(string) bool) ([]fleet.UnitStatus, error) {
				defer busy.Add(-1)
				if busy.Add(1) > 1 {
					return nil, errors.New("busy")
				}
				time.Sleep(time.Millisecond) // the double is slow
				return f.DummyFleet.GetStatusWithMatcher(m)
			}
		},
		"panic": func(f *tampered) {
			f.match = func(func(string) bool) ([]fleet.UnitStatus, error) { panic("concurrent map writes") }
		},
	},
	"name and slice": {"slice ends at a dot": func(f *tampered) {
		f.told(func(s *fleet.UnitStatus) { s.SliceID, _, _ = strings.Cut(s.SliceID, ".") })
	}},
	"states": {"another word": func(f *tampered) {
		f.told(func(s *fleet.UnitStatus) { s.Current = strings.Replace(s.Current, "launched", "running", 1) })
	}},
	"machines of a unit": {
		"told twice": func(f *tampered) {
			f.told(func(s *fleet.UnitStatus) { s.Machine = append(s.Machine, s.Machine...) })
		},
		"no sub state": func(f *tampered) {
			f.told(func(s *fleet.UnitStatus) {
				for i := range s.Machine {
					s.Machine[i].SystemdSub = ""
				}
			})
		},
	},
	"matcher": {
		"unsorted": func(f *tampered) {
			f.match = func(m func(string) bool) ([]fleet.UnitStatus, error) {
				all, err := f.DummyFleet.GetStatusWithMatcher(m)
				slices.Reverse(all)
				return all, err
			}
		},
		"services only": func(f *tampered) {
			f.match = func(m func(string) bool) ([]fleet.UnitStatus, error) {
				return f.DummyFleet.GetStatusWithMatcher(func(name string) bool { return m(name) && strings.HasSuffix(name, ".service") })
			}
		},
	},
	"matcher without match": {"empty list": func(f *tampered) {
		f.match = func(m func(string) bool) ([]fleet.UnitStatus, error) {
			all, err := f.DummyFleet.GetStatusWithMatcher(m)
			if fleet.IsUnitNotFound(err) {
				err = nil
			}
			return all, err
		}
	}},
	"no matcher": {"panic": func(f *tampered) {
		f.match = func(m func(string) bool) ([]fleet.UnitStatus, error) {
			_ = m("")
			return f.DummyFleet.GetStatusWithMatcher(m)
		}
	}},
	"copies": {
		"shared machines": func(f *tampered) {
			f.match = func(m func(string) bool) (all []fleet.UnitStatus, err error) {
				f.Mutex.Lock()
				defer f.Mutex.Unlock()
				for name, status := range f.Units {
					if m(name) {
						all = append(all, status)
					}
				}
				return all, nil
			}
		},
		"shared address": func(f *tampered) {
			ip := net.IPv4(192, 0, 2, 1)
			f.told(func(s *fleet.UnitStatus) {
				if strings.Contains(s.Name, "copies") {
					s.Machine[0].IP = ip
				}
			})
		},
	},
	"read every unit": {"launched only": func(f *tampered) {
		f.listed(func(s fleet.Selector, l *fleet.Listing) {
			if len(s.Names)+len(s.Groups) == 0 {
				l.Units = slices.DeleteFunc(l.Units, func(u fleet.UnitDetail) bool { return u.Desired != "launched" })
			}
		})
	}},
	"read by name": {
		"the first only": func(f *tampered) {
			f.listed(func(s fleet.Selector, l *fleet.Listing) {
				if len(s.Names) > 1 && !s.Exact {
					l.Units = slices.DeleteFunc(l.Units, func(u fleet.UnitDetail) bool { return u.Name != s.Names[0] })
				}
			})
		},
		"unsorted": func(f *tampered) {
			f.listed(func(_ fleet.Selector, l *fleet.Listing) { slices.Reverse(l.Units) })
		},
	},
	"read a group": {"by name only": func(f *tampered) {
		f.listed(func(s fleet.Selector, l *fleet.Listing) {
			l.Units = slices.DeleteFunc(l.Units, func(u fleet.UnitDetail) bool {
				return len(s.Groups) > 0 && u.Stamped && !strings.HasPrefix(u.Name, s.Groups[0])
			})
		})
	}},
	"read nothing": {"an error": func(f *tampered) {
		f.read = func(ctx context.Context, s fleet.Selector) (fleet.Listing, error) {
			listing, err := f.DummyFleet.ReadUnits(ctx, s)
			if err == nil && len(listing.Units) == 0 {
				err = errors.New("no units")
			}
			return listing, err
		}
	}},
	"read exactly": {
		"not whole": func(f *tampered) {
			f.listed(func(_ fleet.Selector, l *fleet.Listing) { l.Whole = false })
		},
		"by prefix": func(f *tampered) {
			f.listed(func(s fleet.Selector, l *fleet.Listing) {
				if s.Exact && len(s.Names) == 3 {
					l.Units = append(l.Units, fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: s.Names[2]}})
				}
			})
		},
	},
	"read details": {"stamp of before": func(f *tampered) {
		f.listed(func(_ fleet.Selector, l *fleet.Listing) {
			for i := range l.Units {
				l.Units[i].Group = strings.Replace(l.Units[i].Group, "other", "", 1)
			}
		})
	}},
	"read states": {"no machines": func(f *tampered) {
		f.listed(func(_ fleet.Selector, l *fleet.Listing) {
			for i := range l.Units {
				l.Units[i].Machine = nil
			}
		})
	}},
	"read with ended context": {"ignored": func(f *tampered) {
		f.read = func(ctx context.Context, s fleet.Selector) (fleet.Listing, error) {
			return f.DummyFleet.ReadUnits(context.WithoutCancel(ctx), s)
		}
	}},
	"content": {"options sorted": func(f *tampered) {
		f.content = func(ctx context.Context, name string) (string, error) {
			content, err := f.DummyFleet.ReadContent(ctx, name)
			lines := strings.Split(content, "\n")
			slices.Sort(lines)
			return strings.Join(lines, "\n"), err
		}
	}},
	"content of absent unit": {"empty": func(f *tampered) {
		f.content = func(ctx context.Context, name string) (string, error) {
			content, err := f.DummyFleet.ReadContent(ctx, name)
			if fleet.IsUnitNotFound(err) {
				err = nil
			}
			return content, err
		}
	}},
	"content with ended context": {"ignored": func(f *tampered) {
		f.content = func(ctx context.Context, name string) (string, error) {
			return f.DummyFleet.ReadContent(context.WithoutCancel(ctx), name)
		}
	}},
	"machines": {
		"unsorted": func(f *tampered) {
			f.machines = func(context.Context) ([]fleet.Machine, error) { return []fleet.Machine{{ID: "b"}, {ID: "a"}, {}}, nil }
		},
		"another one": func(f *tampered) {
			f.machines = func(context.Context) ([]fleet.Machine, error) { return []fleet.Machine{{ID: "a"}}, nil }
		},
	},
	"machines with ended context": {"ignored": func(f *tampered) {
		f.machines = func(ctx context.Context) ([]fleet.Machine, error) {
			return f.DummyFleet.ReadMachines(context.WithoutCancel(ctx))
		}
	}},
	"submit launched": {"loaded only": func(f *tampered) { f.launch = f.DummyFleet.Submit }},
	"submit launched refused": {
		"taken": func(f *tampered) {
			f.launch = func(ctx context.Context, name, content string) error {
				if err := f.DummyFleet.SubmitLaunched(ctx, name, content); !fleet.IsInvalidRequest(err) {
					return err
				}
				return nil
			}
		},
		"context ignored": func(f *tampered) {
			f.launch = func(ctx context.Context, name, content string) error {
				return f.DummyFleet.SubmitLaunched(context.WithoutCancel(ctx), name, content)
			}
		},
	},
}
