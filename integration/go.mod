module github.com/squadronctl/squadron/integration

go 1.26.0

require (
	github.com/squadronctl/squadron v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/crypto v0.59.0
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.50.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/coreos/go-systemd/v22 v22.7.0 // indirect
	github.com/godbus/dbus/v5 v5.2.4 // indirect
	github.com/juju/errgo v0.0.0-20140925100237-08cceb5d0b53 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/satori/go.uuid v1.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/squadronctl/squadron => ../
