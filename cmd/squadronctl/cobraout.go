package main

import "io"

// cobraOutput is standard output for what cobra writes by itself, help and the version, whose errors it drops.
type cobraOutput struct {
	out io.Writer
	err error // of the first write that failed
}

// Write remembers what went wrong.
func (c *cobraOutput) Write(text []byte) (int, error) {
	n, err := c.out.Write(text)
	if err != nil && c.err == nil {
		c.err = outputError{err: err}
	}
	return n, err
}
