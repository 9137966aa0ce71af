// Package squadron is the root of a library that operates groups of systemd units on a fleet cluster, or on one host: it
// submits, starts, stops, destroys and updates them, all copies of a group at a time, and keeps enough of them running
// meanwhile. There is nothing to import here; this is a tour of the packages, in the order in which a reader needs
// them.
//
// # Groups
//
// Package controller is what most programs use. A [github.com/squadronctl/squadron/controller.Request] names a group,
// its unit files, and how many copies of it, its slices, there are to be. A Controller carries out what is asked for:
// Submit, Start, Stop, Destroy, Update, and by the small interfaces Scaler, Planner and Pauser more slices or fewer, what
// an update would do, and holding one up. GetStatus looks at what is there, and an Aggregator adds the states of fleet
// and systemd up to one status. Errors are told apart by the Is… functions.
//
// # Tasks
//
// Operations take as long as the cluster takes, so each begins a task and returns. Package task has the service that
// runs them: by its ID a task can be followed, waited for and cancelled.
//
// # Reaching a cluster
//
// Package fleet has Fleet, the contract of what the controller needs of a backend, and NewFleet, which keeps it on a
// fleet cluster over a unix socket, http, https or an SSH tunnel. A backend of one's own needs no more than the six
// methods of Fleet; small interfaces beside it are for what it can do beyond. Package systemd keeps the same contract on the
// host's own systemd, where one machine is enough.
//
// # Without a cluster
//
// Package fleet/fleettest is a whole fleet cluster in one process: machines, scheduling, the states that a unit goes
// through and the time that this takes, and faults at a test's command. It is for the tests of programs that use this
// library, and for first steps: the program in examples/quickstart brings it along. fleet.DummyFleet is the small
// double, without time or HTTP.
//
// # Testing
//
// With fleettest.ClientConfig the real client and the real controller run inside a testing/synctest bubble, where an
// hour of waiting takes no time. docs/testing.md shows a test of that kind.
//
// # Declared stacks
//
// With the controller one says what to do now. Package stack is the contract of an engine that is told what should be there,
// and package capability names what such an engine may be able to do beyond it. Package stack/units is the engine for groups of
// units, package stack/swarm that for compose files on a Docker Swarm, and stack/revision keeps what was deployed. Package
// reconcile makes the cluster be as declared, again and again, and package prune sweeps what nobody declares any more.
// docs/stacks.md and docs/swarm.md explain them.
//
// # The command
//
// Squadronctl, in cmd/squadronctl, is made of nothing but what these packages export.
//
// # Beside these
//
// Package validator checks unit names and unit files before they go anywhere. Package logging has the Logger that all
// packages take, with an adapter for log/slog; a nil Logger is silent everywhere.
//
// # Not handled
//
// An update ends with the process that carries it out; asked for again it goes on. The SSH tunnel has no second way to a
// TCP endpoint where the server refuses to forward to it.
package squadron
