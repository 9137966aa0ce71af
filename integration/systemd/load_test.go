package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// load is a steady load of requests, until it is ended.
type load struct {
	end  context.CancelFunc
	wait sync.WaitGroup

	mutex    sync.Mutex
	answers  map[string]int
	failures []error
	longest  time.Duration
}

// startLoad sends requests to an address: some on connections that are kept, some on one of their own each, some that take
// a while.
func startLoad(ctx context.Context, address string) *load {
	ctx, end := context.WithCancel(ctx)
	l := &load{end: end, answers: map[string]int{}}
	for _, keep := range []bool{true, false} {
		for _, path := range []string{"/", "/", "/?wait=100ms"} {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: !keep}, Timeout: time.Minute}
			l.wait.Go(func() {
				defer client.CloseIdleConnections()
				for ctx.Err() == nil {
					l.ask(client, "http://"+address+path)
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
	return l
}

// ask sends one request. It is not cut off by the end of the load.
func (l *load) ask(client *http.Client, url string) {
	begun := time.Now()
	text, err := get(client, url)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.longest = max(l.longest, time.Since(begun))
	if err != nil {
		l.failures = append(l.failures, err)
		return
	}
	l.answers[strings.TrimSpace(text)]++
}

func get(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", response.Status, text)
	}
	return string(text), err
}

// stop ends the load, and says how it went.
func (l *load) stop() string {
	l.end()
	l.wait.Wait()
	return fmt.Sprintf("%v answered, %d failed, the longest took %v; %v", l.answers, len(l.failures), l.longest, errors.Join(l.failures...))
}

// Under a steady load four slices behind one socket are updated without a failed request. The same group is then restarted all
// at once, beside it: what that costs is only told, since it depends on how long a restart takes.
func TestUpdateUnderLoad(t *testing.T) {
	address := copyExample(t)
	defer removeExample(t)
	shell(t, "squadronctl up front; squadronctl up web 4")

	rolling := startLoad(t.Context(), address)
	shell(t, "sed -i s/hello/welcome/ web/web-app@.service; squadronctl update web")
	t.Logf("rolling update: %s", rolling.stop())
	assert.Empty(t, rolling.failures)
	assert.Positive(t, rolling.answers["hello"])
	assert.Positive(t, rolling.answers["welcome"])
	assert.Len(t, rolling.answers, 2)

	for what, script := range map[string]string{
		"all slices stopped and started":    "squadronctl stop web; squadronctl start web",
		"all slices restarted by systemctl": "systemctl restart 'web-app@*'",
	} {
		atOnce := startLoad(t.Context(), address)
		shell(t, script)
		shell(t, "curl -sS --retry 20 --retry-connrefused http://"+address)
		t.Logf("%s: %s", what, atOnce.stop())
	}
}

// A machine that goes down in the middle of an update comes up with slices of both contents, and with one more than there were
// where that had been added. The same update, told how many there are to be, then makes all of them new and leaves nothing else.
func TestRebootInAnUpdate(t *testing.T) {
	address := copyExample(t)
	shell(t, "squadronctl up front; squadronctl up web 4; sed -i s/hello/welcome/ web/web-app@.service")
	contents := func(word string) string {
		return strings.TrimSpace(shell(t, "grep -l GREETING="+word+" /etc/squadron/units/web-app@* | wc -l"))
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// As a service it goes down with the machine.
		_, _ = tryShell(t, "systemd-run -q --wait --pipe -p TimeoutStopSec=1 -p WorkingDirectory="+home+
			" -E SQUADRON_ENDPOINT=systemd: /usr/local/bin/squadronctl update web")
	}()
	assert.Eventually(t, func() bool { return contents("hello") == "3" }, time.Minute, 50*time.Millisecond)
	reboot(t)
	<-ended
	t.Logf("after the reboot: %s old, %s new", contents("hello"), contents("welcome"))
	assert.NotEqual(t, "0", contents("hello"), "the machine went down too late")

	shell(t, "squadronctl update web 4; squadronctl update web")
	assert.Equal(t, "0", contents("hello"))
	assert.Equal(t, "4", contents("welcome"))
	assert.Equal(t, "welcome\n", shell(t, "curl -sS http://"+address))
	removeExample(t)
}
