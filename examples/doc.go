// Package examples holds programs and unit groups to read and to run; there is nothing in it to import.
//
// quickstart takes a group through its whole life, on a simulated cluster or a real one. The directories of groups are
// groups of unit files, one of each kind: webshop is sliced, ledger is an instance group, metrics is a global unit,
// report is a timer with its oneshot service. The files are named as the units are, and a group is named as its
// directory is. single-host has two groups for one host, a web server and the socket that its slices share, which
// docs/single-host.md takes through an update without a failed request.
package examples
