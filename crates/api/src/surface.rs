/// What a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The API, and the pages beside it.
    Everything,
    /// The API without the pages.
    Api,
    /// The pages and the service's own name (`/.well-known/nostr.json`), and nothing of the API beside that.
    Pages,
}
