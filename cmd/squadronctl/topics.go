package main

import "github.com/spf13/cobra"

// topics are pages of help that are about no single command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "group-argument", Short: "How groups and slices are named", Long: groupTopic},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitTopic},
		{Use: "configuration", Short: "Flags, environment variables and the configuration file", Long: configurationTopic},
		{Use: "progress", Short: "What is shown while a command works, and how it is interrupted", Long: progressTopic},
	}
}

const groupTopic = `A GROUP is a directory of unit files. The directory's name is the group's, and the names of its unit files begin with it:

  web/web-app@.service
  web/web-cache@.service

A trailing slash, "." and any path will do. Files that are not named like units are left out. Of a group whose unit files
have an @ there may be many copies, its slices; a group without @ exists once.

Where no unit files are needed (start, stop, destroy, status, watch, restart, scale), a GROUP is a name: web stands for all
units on the cluster whose names begin with web and go on with no letter or digit, or that carry the group's stamp. A name
is taken for a name even where there is a directory of that name. A path, as in ./web, stands for the units of which that
directory has files, and for no others. That is the way out where a name is ambiguous, since web-2-app@1.service looks like
a unit of web as well as of web-2.

Slices are named after an @: web@3f1, or several: web@3f1 web@2fb. Brace lists are expanded as bash does it, where the
shell has not done so: 'web@{1,2}', 'web@{1..4}'. Without slices the whole group is meant. One command is about one group.`

const exitTopic = `  0    done. Also: what was asked for was so already
  1    failed. Of status: not all units run
  2    wrong usage or input: flags, arguments, unit files, an endpoint that can't be one
  3    not found: no such group, slice or unit
  4    refused: bounds that do not fit the group, an ambiguous group name, a group that is there with another content
       or as a declared stack, and on one host a unit whose name it has from elsewhere, or that is not meant for it
  5    timeout: --timeout was over
  130  interrupted by Ctrl-C (SIGINT), SIGTERM or SIGHUP
  141  nobody reads standard output any more

Standard output carries results only. An error is one line on standard error and says what to do next where that is known;
-v adds what caused it.`

const configurationTopic = `Settings are looked for in this order: flags, environment variables, the context of the configuration file, defaults.

Each flag that says how to reach a cluster can be set by an environment variable: SQUADRON_ and the flag's name, in upper case
and with _ for -, as in SQUADRON_TUNNEL; for --fleet-endpoint it is SQUADRON_ENDPOINT. The variables of fleetctl are heeded
as well: FLEETCTL_ENDPOINT, FLEETCTL_TUNNEL, FLEETCTL_SSH_USERNAME, FLEETCTL_SSH_TIMEOUT, FLEETCTL_KNOWN_HOSTS_FILE,
FLEETCTL_STRICT_HOST_KEY_CHECKING, FLEETCTL_CA_FILE, FLEETCTL_CERT_FILE, FLEETCTL_KEY_FILE. SQUADRON_ wins over FLEETCTL_. An
empty variable counts as not set. SQUADRON_TIMEOUT and SQUADRON_LOG_FORMAT set the flags of these names.

The configuration file is ~/.config/squadron/config.yaml ($XDG_CONFIG_HOME is heeded), or what --config or SQUADRON_CONFIG
names. It has contexts, one for each cluster, and holds no secrets:

  current-context: staging
  contexts:
    staging:
      endpoint: http://10.0.0.1:49153
    production:
      endpoint: unix:///var/run/fleet.sock
      tunnel: bastion.example.com
      ssh-username: core
      stamp: true

The settings of a context are endpoint, tunnel, ssh-username, ssh-timeout, ssh-strict-host-key-checking,
ssh-known-hosts-file, ssh-identity, ca-file, cert-file, key-file, stamp and engine. --context picks one by name, and then no
environment variable counts for the connection; SQUADRON_CONTEXT names another current one. The current context is not used
where flags or variables give an endpoint or a tunnel: its other settings belong to another cluster.

An endpoint is unix:///path of fleet's socket, http://host:port or https://host:port; with --tunnel it is as seen from the
host that the tunnel ends at. systemd: is the systemd of this host, and systemd:user that of this user.

Apply, diff and drift have another engine beside units: with --engine swarm, SQUADRON_ENGINE=swarm or engine: swarm in a context
they see to stacks on a Docker Swarm. Its manager is the engine that the docker command would talk to: that of DOCKER_HOST
(with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH for a tcp address), else of the docker context that DOCKER_CONTEXT names, else of the
current one in $DOCKER_CONFIG/config.json or ~/.docker/config.json, else the one at /var/run/docker.sock. To an ssh address
the flags --ssh-... say how to log in, with ~/.ssh/known_hosts and $USER by default; no ssh and no docker is started.
DOCKER_API_VERSION fixes the version of the API. Registries are logged in to by what "docker login" has kept in config.json
itself. What a program keeps for it (credsStore, credHelpers) is not asked for.`

const progressTopic = `While a command works on a group, standard error shows a line for each slice with its phase and time, and a bar over all. On a
terminal these are drawn in place. Where standard error is no terminal, or NO_COLOR is set, or TERM is not set or dumb,
each step is one plain line.

Ctrl-C asks the command for a clean end: an update takes up nothing new, brings what is under way to its end, and says which
slices are new and which are old; a submit takes back what it has written half-way. Ctrl-C again leaves at once, and says what
was seen last. Update and scale go on when they are called again; after one that left at once, or was killed, say how many
slices are wanted, since what it had added counts as found. SIGTERM and the end of the terminal (SIGHUP) are
like Ctrl-C. A command also comes to its end where nobody reads any more what it writes.`
