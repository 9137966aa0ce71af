package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errTime = errors.New("it has to be a time above 0, such as 10s")

// seconds is a flag for a time above 0 that may be given in fleetctl's way too, as a mere number of seconds.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }

func (*seconds) Type() string { return "duration" }

func (s *seconds) Set(text string) error {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		if !(number > 0 && number <= math.MaxInt32) {
			return errTime
		}
		*s = seconds(number * float64(time.Second))
		return nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		return errTime
	}
	*s = seconds(duration)
	return nil
}

// wholeSeconds is a flag for a number of seconds, which may be 0.
type wholeSeconds int

func (s *wholeSeconds) String() string { return strconv.Itoa(int(*s)) }

func (*wholeSeconds) Type() string { return "seconds" }

func (s *wholeSeconds) Set(text string) error {
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || number > math.MaxInt32 {
		return errors.New("it has to be a whole number of seconds, such as 30")
	}
	*s = wholeSeconds(number)
	return nil
}

// bound is a flag for a number of slices, or for a percentage of how many there are to be.
type bound struct {
	given   bool
	number  int
	percent bool
}

func (b *bound) String() string {
	switch {
	case !b.given:
		return ""
	case b.percent:
		return strconv.Itoa(b.number) + "%"
	default:
		return strconv.Itoa(b.number)
	}
}

func (*bound) Type() string { return "number|percent%" }

func (b *bound) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	number, err := strconv.Atoi(digits)
	if err != nil || number < 0 || number > math.MaxInt32 {
		return errors.New("it has to be a number, or a percentage such as 25%")
	}
	*b = bound{given: true, number: number, percent: percent}
	return nil
}

// of gives the bound for so many slices. A part of a slice counts as a whole one.
func (b *bound) of(slices int) int {
	if !b.percent {
		return b.number
	}
	return (b.number*slices + 99) / 100
}
