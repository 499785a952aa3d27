// Package web gives a model the web: web_search and image_search, which ask search engines, and web_fetch, which reads one page.
//
// Laws:
//
//   - Requests go through internal/outbound unless the caller brings a [Doer] of its own. So the zero options reach public
//     addresses only, whatever a model, a page or an engine says; what else may be reached is named in Allow, separately for
//     pages and for each engine: who allows an engine on this machine does not open the machine to web_fetch.
//   - Engines are asked in the order in which they are given, until there are enough results. One that fails is passed over;
//     its error says which setting to change, and never holds the key. A result is there once, whichever engines found it.
//   - Every result, and every part of a page, is a block of its own that can be cited, with its source, title and date.
//   - What comes from outside is text. Scripts, styles and what a page hides are left out, and so are control characters and
//     characters that nobody sees. It cannot close or open the tags that tell a model what can be cited.
//   - A page is bounded in bytes, in elements and in what is unpacked of it. A page that is too large to be understood is read
//     plainly; none is read halfway without saying so.
//   - The parts of a page, put together, are the page. For ten minutes all parts are of the page as it was when the first was read.
//   - Pages are kept in memory and asked for again with their validators (ETag, Last-Modified), unless the site forbids it. No
//     cookie and no credential is ever sent to a page, so what is kept is what everybody sees.
package web
