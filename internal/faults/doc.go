// Package faults breaks tributary on purpose and checks that nothing is lost.
//
// It has three parts. [Provider] is a model provider over real HTTP that fails as it is told to. [Check] is the oracle: it takes
// what every reader of a run received and says which law was broken. The driver, in the tests, starts the real program,
// lets many readers follow many runs over several wires, and kills, pauses, starves and restarts the program meanwhile.
//
// # What the oracle holds a run to
//
//   - Ids rise without gap or repeat, whatever connections the reader needed.
//   - The deltas of a message, joined, are its final text, and that is what one try of the provider said: the provider
//     writes the number of the try into every word.
//   - A message that was begun and is not part of the result is said to be void.
//   - The run ends, once, and nothing comes after the end.
//   - Usage is that of the turns that count, once.
//   - A tool that has an effect has it at most once per call.
//   - Whoever reads later, or over another wire, gets the same.
//
// The oracle is tested with evidence in which these mistakes were planted, one by one.
//
// # What runs when
//
// Tests that take seconds run with all others. Those that take minutes, or need a disk of their own, are named TestSoak… and run
// with make soak. Whatever is random is drawn from a seed that is logged; FAULTS_SEED repeats it.
package faults
