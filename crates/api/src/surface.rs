/// The routes of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The API and the pages.
    Everything,
    /// The API without the pages.
    Api,
    /// The pages and the service's `/.well-known/nostr.json`, without the rest of the API.
    Pages,
}
