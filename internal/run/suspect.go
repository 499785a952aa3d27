package run

import "math"

// Which run ends the process? All that it executed are equally suspect at first. Those that get further are acquitted; those
// that crash at the same place again are executed in smaller groups, and at last one by one. So a run that ends the process is
// found, and its neighbours only wait for a while; and where no run is to blame, because somebody kills the process or
// there is too little memory for all of them at once, they get through all the same.
//
// Runs that have not crashed twice are never held up by this, and do not count: one of them that ends the process is a suspect
// itself soon.

// suspectAfter is how many crashes at one place make a suspect.
const suspectAfter = 2

// together is how many runs that crashed so often at one place are executed at a time.
func together(crashes int) int {
	switch crashes {
	case 2:
		return 16
	case 3:
		return 4
	}
	return 1
}

// claimSuspects takes runs that crashed at one place more than once: a group of those that did so equally often, and none
// else before it has gone.
func (e *Engine) claimSuspects() error {
	for !e.isDraining() {
		e.mu.Lock()
		n, crashes := 1, Between{suspectAfter, math.MaxInt}
		if e.suspects > 0 {
			n, crashes = together(e.crashes)-e.suspects, Between{e.crashes, e.crashes}
		}
		n = min(n, e.opt.MaxRuns-len(e.active))
		e.mu.Unlock()
		if n <= 0 {
			return nil
		}
		if got, err := e.take(n, crashes); got == 0 || err != nil {
			return err
		}
	}
	return nil
}

// acquit is told that a run has got further, or has left: others may follow.
func (e *Engine) acquit(a *active) {
	e.mu.Lock()
	was := a.suspect
	if was {
		a.suspect = false
		e.suspects--
	}
	e.mu.Unlock()
	if was {
		e.wake()
	}
}
