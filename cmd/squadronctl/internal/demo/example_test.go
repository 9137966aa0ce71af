package demo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/demo"
)

func ExampleRun() {
	base, err := os.MkdirTemp("", "demo")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the demo of an example is soon over
	fmt.Println(demo.Run(ctx, demo.Config{Socket: filepath.Join(base, "demo.sock"), Dir: filepath.Join(base, "groups")}))
	written, err := filepath.Glob(filepath.Join(base, "groups", "*"))
	if err != nil {
		panic(err)
	}
	for _, dir := range written {
		fmt.Println(filepath.Base(dir))
	}
	// Output:
	// <nil>
	// broken
	// ledger
	// mail
	// queue
	// report
	// stacks
	// web
}
