package graph

import "sync"

// Local is a value that every run has one of, for whatever nodes of the run want to share without writing it into the
// state: a pool, a counter, a connection. It is made by the first node that asks for it and lives in memory while the run
// executes in this process. After a crash or an interrupt it is made anew, so keep in it only what can be made again.
//
// Declare a Local once, beside the nodes that use it. It is safe for concurrent use; what it holds must be so too.
type Local[T any] struct {
	key  *byte // its address tells Locals apart; it has a size, so that no two have the same
	make func(*Scope) T
}

// NewLocal says how the value of a run is made.
func NewLocal[T any](make func(*Scope) T) Local[T] { return Local[T]{new(byte), make} }

// Get returns the value of the scope's run.
func (l Local[T]) Get(s *Scope) T {
	v := s.Local(l.key, func() any { return l.make(s) })
	return v.(T)
}

// Local is the untyped form of [Local], for those whose keys are not known to the program: the first who asks for a key
// makes its value. Keys are compared as those of a context are.
func (s *Scope) Local(key any, make func() any) any { return s.engine.x.locals.get(key, make) }

// locals are the values of one run.
type locals struct {
	mu     sync.Mutex
	values map[any]*local
}

type local struct {
	once  sync.Once
	value any
}

// get makes values outside of the lock: one may need another.
func (l *locals) get(key any, make func() any) any {
	l.mu.Lock()
	v := l.values[key]
	if v == nil {
		if l.values == nil {
			l.values = map[any]*local{}
		}
		v = &local{}
		l.values[key] = v
	}
	l.mu.Unlock()
	v.once.Do(func() { v.value = make() })
	return v.value
}
