//! Who has logged in, as pages show it.

use std::time::Duration;

use usher_page_layout::short_key;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use crate::PagesState;

/// How long a page waits for the name of its user. Without it, it shows the key alone.
const NAME_WITHIN: Duration = Duration::from_millis(400);

/// A user.
pub(crate) struct Account {
    /// The name in the user's profile; empty where there is none.
    pub(crate) name: String,
    /// The key as `npub…`, its start and its end.
    pub(crate) npub: String,
}

impl Account {
    /// Looks a user's name up.
    pub(crate) async fn of(pages: &PagesState, key: &PublicKey) -> Self {
        let name = match &pages.directory {
            Some(directory) => tokio::time::timeout(NAME_WITHIN, directory.profile(key, None)).await.ok(),
            None => None,
        };
        let profile = name.and_then(Result::ok).flatten();
        let name = profile.and_then(|profile| profile.display_name.or(profile.name)).unwrap_or_default();
        Self { name, npub: short_key(&npub(key)) }
    }
}
