package task_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/squadronctl/squadron/task"
)

func Example() {
	ctx := context.Background()
	service := task.NewTaskService(task.DefaultConfig())

	created, err := service.Create(ctx, func(ctx context.Context) error {
		// The work. It has all the time it needs, and ends early when ctx does.
		return ctx.Err()
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(created.ActiveStatus)

	ended, err := service.WaitForFinalStatus(ctx, created.ID, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ended.ActiveStatus, ended.FinalStatus, ended.Error)
	// Output:
	// started
	// stopped succeeded <nil>
}

// A task is ended by its service alone, never by the context of the call that created it.
func ExampleCanceler() {
	ctx := context.Background()
	service := task.NewTaskService(task.DefaultConfig())

	created, err := service.Create(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("roll out web: %w", ctx.Err())
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := service.(task.Canceler).Cancel(ctx, created.ID); err != nil {
		fmt.Println(err)
		return
	}
	ended, err := service.WaitForFinalStatus(ctx, created.ID, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ended.FinalStatus, ended.Error)
	fmt.Println(errors.Is(ended.Error, context.Canceled))
	// Output:
	// failed roll out web: context canceled
	// true
}
