//! The logged-in user, as pages show them.

use std::time::Duration;

use usher_engine::Origin;
use usher_page_layout::short_key;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use crate::state::PagesState;

/// How long a page waits for the user's name before it shows only the key.
const NAME_WITHIN: Duration = Duration::from_millis(400);

pub(crate) struct Account {
    /// The name in the user's profile; empty if there is none.
    pub(crate) name: String,
    /// The start and end of the key (`npub…`).
    pub(crate) npub: String,
}

impl Account {
    pub(crate) async fn of(pages: &PagesState, key: &PublicKey) -> Self {
        let name = match &pages.directory {
            Some(directory) => {
                tokio::time::timeout(NAME_WITHIN, directory.profile(key, Some(Origin::USERS))).await.ok()
            }
            None => None,
        };
        let profile = name.and_then(Result::ok).flatten();
        let name = profile.and_then(|profile| profile.display_name.or(profile.name)).unwrap_or_default();
        Self { name, npub: short_key(&npub(key)) }
    }
}
