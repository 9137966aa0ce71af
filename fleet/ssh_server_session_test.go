package fleet

import (
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// sessions is what a server knows of them. Its mutex is the server's.
type sessions struct {
	// run carries a command out and gives its exit status; without it there is no command that could be run.
	run func(command string, stream ssh.Channel) (status uint32)
	// max is how many may be open; 0 means none, as with OpenSSH.
	max int
	// delay goes before the answer to the request for a command, in a bubble.
	delay time.Duration

	open     int
	mostOpen int
	refused  int
	commands []string
	requests []string // other than for commands
}

func (s *sshServer) allowSessions(number int, run func(string, ssh.Channel) uint32) {
	s.count(func() { s.sessions.max, s.sessions.run = number, run })
}

func (s *sshServer) seenSessions() sessions {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sessions
}

// takeSession counts one more session, where there is room.
func (s *sshServer) takeSession() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.sessions.open >= s.sessions.max {
		s.sessions.refused++
		return false
	}
	s.sessions.open++
	s.sessions.mostOpen = max(s.sessions.mostOpen, s.sessions.open)
	return true
}

func (s *sshServer) session(request ssh.NewChannel) {
	if !s.takeSession() {
		request.Reject(ssh.ConnectionFailed, "open failed")
		return
	}
	defer s.count(func() { s.sessions.open-- })
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	for asked := range requests {
		var exec struct{ Command string }
		if asked.Type != "exec" || ssh.Unmarshal(asked.Payload, &exec) != nil {
			s.count(func() { s.sessions.requests = append(s.sessions.requests, asked.Type) })
			_ = asked.Reply(false, nil)
			continue
		}
		s.count(func() { s.sessions.commands = append(s.sessions.commands, exec.Command) })
		time.Sleep(s.sessions.delay) // the double is slow
		_ = asked.Reply(s.sessions.run != nil, nil)
		if s.sessions.run == nil {
			continue
		}
		status := s.sessions.run(exec.Command, channel)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return
	}
}

// fdForward does what fleetctl does, its exit status of 0 included where nothing could be reached.
func fdForward(command string, stream ssh.Channel) uint32 {
	path := strings.Trim(strings.TrimPrefix(command, "fleetctl fd-forward "), "'")
	connection, err := net.Dial("unix", path)
	if err != nil {
		_, _ = io.WriteString(stream.Stderr(), "Failed dialing remote address: "+err.Error()+"\n")
		return 0
	}
	defer connection.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]io.ReadWriter{{connection, stream}, {stream, connection}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
	return 0
}

// saying gives a command that does nothing but fail.
func saying(status uint32, says string) func(string, ssh.Channel) uint32 {
	return func(_ string, stream ssh.Channel) uint32 {
		_, _ = io.WriteString(stream.Stderr(), says)
		return status
	}
}
