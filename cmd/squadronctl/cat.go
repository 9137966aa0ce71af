package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/validator"
)

func (a *app) catCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cat UNIT",
		Short: "Show a unit file that is on the cluster",
		Long: `Shows a unit file as the cluster has it: the same sections and options as submitted, without comments and blank lines. UNIT is
a unit's whole name, as "squadronctl status -o wide" shows it.`,
		Example:           "  squadronctl cat web-app@3f1.service",
		Args:              oneUnit,
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := validator.UnitName(args[0]); err != nil {
				return usageError{err: err}
			}
			return a.read(func(ctx context.Context, s *session) error {
				reader, ok := s.fleet.(fleet.ContentReader)
				if !ok {
					return errNotOffered
				}
				content, err := reader.ReadContent(ctx, args[0])
				if err != nil {
					return err
				}
				return a.write(content)
			})
		},
	}
}

func oneUnit(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one UNIT is needed, such as web-app@3f1.service")
	}
	return nil
}
