package run_test

import "github.com/tributary-ai/tributary/internal/bus"

// deafBus loses every message, as a bus may.
type deafBus struct{}

func (deafBus) Publish(bus.Message)                {}
func (deafBus) Subscribe(func(bus.Message)) func() { return func() {} }
