// Command app is what the containers of the tests run. Its first argument says what it does:
//
//	serve            answers on port 8080, until SIGTERM, with its arguments, environment and user, the files named by ?file=
//	                 and what is answered at the addresses named by ?get=
//	stubborn         does so until it is killed
//	exit N           ends with that status
//	fail-after D     ends with status 1 after that time
//	get URL          prints what is answered there
//	healthy, sick    end as a health check does
//
// Without arguments it serves.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		args = []string{"serve"}
	}
	switch args[0] {
	case "serve":
		return serve()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		return http.ListenAndServe(":8080", http.HandlerFunc(answer))
	case "exit":
		status, err := strconv.Atoi(strings.Join(args[1:], ""))
		if err != nil {
			return err
		}
		os.Exit(status)
	case "fail-after":
		wait, err := time.ParseDuration(strings.Join(args[1:], ""))
		if err != nil {
			return err
		}
		time.Sleep(wait)
		return errors.New("it was to fail")
	case "get":
		return get(strings.Join(args[1:], ""))
	case "healthy":
	case "sick":
		return errors.New("it was to be sick")
	default:
		return fmt.Errorf("%q is nothing that it does", args[0])
	}
	return nil
}

func serve() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server := &http.Server{Addr: ":8080", Handler: http.HandlerFunc(answer)}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	for _, arg := range os.Args {
		fmt.Fprintln(w, "argument", arg)
	}
	for _, variable := range os.Environ() {
		fmt.Fprintln(w, "environment", variable)
	}
	fmt.Fprintf(w, "user %d:%d\n", os.Getuid(), os.Getgid())
	for _, url := range r.URL.Query()["get"] {
		text := "nothing"
		if body, err := fetch(url); err == nil {
			text = string(body)
		}
		fmt.Fprintf(w, "answer of %s %s\n", url, strings.Join(strings.Fields(text), " "))
	}
	for _, file := range r.URL.Query()["file"] {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(w, "error", err)
			continue
		}
		fmt.Fprintf(w, "file %s %s\n", file, text)
	}
}

func get(url string) error {
	body, err := fetch(url)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(body)
	return err
}

func fetch(url string) ([]byte, error) {
	client := &http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
