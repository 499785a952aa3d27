// Package httpapi serves a runtime over HTTP: it makes an http.Handler that speaks every wire of tributary, for a program
// that has graphs and tools of its own, a mux of its own, and its own idea of who may call.
//
//	h, err := httpapi.New(rt, httpapi.Options{Prefix: "/agents", Identify: whoAsks})
//	if err != nil {
//		return err
//	}
//	mux.Handle("/agents/", h)
//
// The stock server, cmd/tributary, is such a program.
//
// # Laws
//
//   - Every request but those to /ok, /info and the description of the routes has an owner, given by Identify. What belongs
//     to another owner is answered like what does not exist.
//   - No page in a browser reaches the handler by a host name or from an origin that it was not told of.
//   - A connection that ends stops no run, unless whoever made it asked for that.
//
// # Stopping
//
// In the order in which nothing is lost: [Handler.Closing] ends the streams, so that their readers reconnect when the next
// process is up; http.Server.Shutdown answers the requests under way; Runtime.Close lets runs finish or hands them over.
package httpapi
