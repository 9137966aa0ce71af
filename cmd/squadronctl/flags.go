package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settings are the flags that all commands have.
type settings struct {
	configFile string
	context    string

	endpoint              string
	tunnel                string
	sshUsername           string
	sshTimeout            time.Duration
	strictHostKeyChecking bool
	knownHostsFile        string
	identity              string
	caFile                string
	certFile              string
	keyFile               string
	stamp                 bool

	timeout   time.Duration
	verbose   int
	logFormat string
	waitSleep time.Duration

	// sources say for each flag of a connection that is set where it was set, for messages.
	sources map[string]string
}

// connectionFlag is a flag that a context, and fleetctl's environment variables, may set as well.
type connectionFlag struct {
	name string
	// fleetctl are the variables that fleetctl reads, without FLEETCTL_, where their names are not that of the flag.
	fleetctl []string
}

// connectionFlags are the flags that say how to reach a cluster, and how contents are written there. Not every command has all
// of them.
func connectionFlags() []connectionFlag {
	return []connectionFlag{
		{"fleet-endpoint", []string{"ENDPOINT"}},
		{"tunnel", nil},
		{"ssh-username", nil},
		{"ssh-timeout", nil},
		{"ssh-strict-host-key-checking", []string{"STRICT_HOST_KEY_CHECKING"}},
		{"ssh-known-hosts-file", []string{"KNOWN_HOSTS_FILE"}},
		{"ssh-identity", nil},
		{"ca-file", nil},
		{"cert-file", nil},
		{"key-file", nil},
		{"stamp", nil},
		{"engine", nil},
	}
}

// contextKeys are the settings that a context may have.
func contextKeys() []string {
	var keys []string
	for _, flag := range connectionFlags() {
		keys = append(keys, contextKey(flag.name))
	}
	return keys
}

// contextKey is a flag's name in the configuration file.
func contextKey(flag string) string { return strings.TrimPrefix(flag, "fleet-") }

// variables are the environment variables that set a flag, the first that is set winning.
func (f connectionFlag) variables() []string {
	upper := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
	names := []string{"SQUADRON_" + upper(contextKey(f.name))}
	for _, name := range f.fleetctl {
		names = append(names, "FLEETCTL_"+name)
	}
	if !slices.Contains([]string{"stamp", "engine", "fleet-endpoint"}, f.name) {
		names = append(names, "FLEETCTL_"+upper(f.name))
	}
	return names
}

func (a *app) addSettings(root *cobra.Command) {
	s := &a.settings
	s.sshTimeout, s.timeout, s.waitSleep, s.logFormat = 10*time.Second, 5*time.Minute, time.Second, "text"
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&s.endpoint, "fleet-endpoint", "unix:///var/run/fleet.sock",
		"the `URL` of the cluster: unix:///path, http://host:port, https://host:port, or systemd: and systemd:user for this host alone")
	flags.StringVar(&s.tunnel, "tunnel", "", "reach the endpoint by SSH through this `host[:port]`")
	flags.StringVar(&s.sshUsername, "ssh-username", "core", "the `user` to log in as through the tunnel")
	flags.Var((*seconds)(&s.sshTimeout), "ssh-timeout", "how long connecting through the tunnel may take, as in 10s; a mere number is of seconds")
	flags.BoolVar(&s.strictHostKeyChecking, "ssh-strict-host-key-checking", true, "refuse a tunnel's host whose key is not known")
	flags.StringVar(&s.knownHostsFile, "ssh-known-hosts-file", "~/.fleetctl/known_hosts", "the `file` of known host keys")
	flags.StringVar(&s.identity, "ssh-identity", "", "the `file` of the private key for the tunnel; by default the SSH agent's keys are used")
	flags.StringVar(&s.caFile, "ca-file", "", "the `file` of the CA certificates that an https endpoint is checked against")
	flags.StringVar(&s.certFile, "cert-file", "", "the `file` of the client certificate for an https endpoint")
	flags.StringVar(&s.keyFile, "key-file", "", "the `file` of the client certificate's key")
	flags.BoolVar(&s.stamp, "stamp", false, "write the group's name into each unit that is submitted ([X-Squadron] Group=), which tells groups apart by more than names")
	flags.StringVar(&s.context, "context", "", "the `name` of the context of the configuration file to use, in place of its current one")
	flags.StringVar(&s.configFile, "config", "", "the configuration `file` (default ~/.config/squadron/config.yaml)")
	flags.Var((*seconds)(&s.timeout), "timeout", "how long to wait for a status, and for the cluster's answers, as in 90s; a mere number is of seconds")
	flags.CountVarP(&s.verbose, "verbose", "v", "say what is done, and an error's causes; -vv says it in detail")
	flags.Var(&choice{value: &s.logFormat, choices: []string{"text", "json"}}, "log-format", "the form of log lines: text or json")
	flags.Var((*seconds)(&s.waitSleep), "wait-sleep", "the pause between two looks at the cluster")
	_ = flags.MarkHidden("wait-sleep") // it exists
	completeFlag(root, "log-format", "text", "json")
	for _, flag := range []string{"fleet-endpoint", "tunnel", "ssh-username", "ssh-timeout", "timeout"} {
		completeFlag(root, flag)
	}
	_ = root.RegisterFlagCompletionFunc("context", a.completeContexts) // it exists
}

// completeFlag has a flag completed by these values.
func completeFlag(command *cobra.Command, flag string, values ...string) {
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it exists
}

// settle fills in the flags that the command line leaves open: from the environment, then from the current context. A
// context named by --context is used as a whole, so the environment's connection does not count beside it; and the current
// one is left alone where an endpoint or a tunnel is given, since the rest of it belongs to another cluster.
func (a *app) settle(flags *pflag.FlagSet) error {
	a.settings.sources = map[string]string{}
	for _, name := range []string{"timeout", "log-format", "wait-sleep"} {
		if err := a.fromEnvironment(flags, name, []string{"SQUADRON_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}); err != nil {
			return err
		}
	}
	connection := connectionFlags()
	for _, flag := range connection {
		if flags.Lookup(flag.name) == nil || !flags.Changed(flag.name) && a.settings.context != "" {
			continue
		} else if flags.Changed(flag.name) {
			a.settings.sources[flag.name] = "--" + flag.name
		} else if err := a.fromEnvironment(flags, flag.name, flag.variables()); err != nil {
			return err
		}
	}
	if a.settings.context == "" && (a.settings.sources["fleet-endpoint"] != "" || a.settings.sources["tunnel"] != "") {
		return nil
	}
	return a.fromContext(flags, connection)
}

func (a *app) fromEnvironment(flags *pflag.FlagSet, flag string, variables []string) error {
	if flags.Changed(flag) {
		return nil
	}
	for _, variable := range variables {
		value := a.env[variable]
		if value == "" {
			continue
		}
		if err := flags.Lookup(flag).Value.Set(value); err != nil {
			return usagef("environment variable %s=%q: %w", variable, value, plainly(err))
		}
		a.settings.sources[flag] = variable
		return nil
	}
	return nil
}

func (a *app) fromContext(flags *pflag.FlagSet, connection []connectionFlag) error {
	name := a.settings.context
	if name == "" {
		name = a.env["SQUADRON_CONTEXT"]
	}
	path, values, err := a.readContext(name)
	if err != nil {
		return err
	}
	if a.settings.context == "" && a.ofAnotherEngine(flags, values) {
		return nil
	}
	for _, flag := range connection {
		value, there := values[contextKey(flag.name)]
		if !there || a.settings.sources[flag.name] != "" {
			continue
		}
		if flags.Lookup(flag.name) == nil {
			if value == engineUnits {
				continue
			}
			return usagef("configuration file %s: the context is of %s: %s, for which there are apply, diff and drift only", path, flag.name, value)
		}
		if err := flags.Lookup(flag.name).Value.Set(value); err != nil {
			return usagef("configuration file %s: %s: %q: %w", path, contextKey(flag.name), value, plainly(err))
		}
		a.settings.sources[flag.name] = "context"
	}
	return nil
}

// choice is a flag that takes one of a few values.
type choice struct {
	value   *string
	choices []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return strings.Join(c.choices, "|") }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.choices, text) {
		return fmt.Errorf("it has to be one of %s", strings.Join(c.choices, ", "))
	}
	*c.value = text
	return nil
}
