// Package registry knows the models of an installation: what they are called here, who serves them, with which key, what
// they can do and cost, and why one of them cannot be used.
//
// # Laws
//
//   - A mistake in the settings is an error of [New], which names the entry. A missing key is none: the model is listed,
//     with the reason why it cannot be used, and the others work.
//   - Keys are read from the environment or from files, once, and given to the provider's package alone. No method
//     returns one, and nothing here prints one: not [Config], not [Entry], not an error.
//   - Which model answers is decided by [Registry.Resolve] alone: the request's wish, the agent's configuration, the
//     first that can be used. A wish that cannot be met is an error; an agent's configuration that cannot, a warning.
//   - Without settings, the models are those whose keys are in the environment, and the offline model.
package registry
