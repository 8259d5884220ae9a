//! A profile, in responses, and why one could not be looked up.

use serde::Serialize;
use usher_engine::ports::LookUpError;
use utoipa::ToSchema;

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

impl From<LookUpError> for Problem {
    fn from(error: LookUpError) -> Self {
        match error {
            LookUpError::NoRelay => no_relay(),
            LookUpError::Busy => Self::overloaded("as many look-ups run as may at a time"),
        }
    }
}

/// No relay answers.
pub(super) fn no_relay() -> Problem {
    Problem::new(ErrorCode::NoRelayConnected, "no relay is connected, or none answered in time")
        .retry_after(RETRY_SECONDS)
}

/// A profile. Its texts are of a stranger's making: one line each, without control characters, and bounded.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Profile, example = json!({
    "id": "3f2f8a3b1c0d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "pubkey": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "name": "ada",
    "display_name": "Ada Lovelace",
    "picture": "https://example.com/ada.png",
    "about": null,
    "nip05": "ada@example.com",
}))]
pub(crate) struct Profile {
    /// The Nostr event that says so.
    id: String,
    /// Whose it is.
    pubkey: String,
    /// User name, no spaces.
    #[schema(required = true, max_length = 64)]
    name: Option<String>,
    /// Name as shown.
    #[schema(required = true, max_length = 128)]
    display_name: Option<String>,
    /// `https` or `http` address of a picture. It leads wherever its owner wants.
    #[schema(required = true, max_length = 2048)]
    picture: Option<String>,
    /// A few words.
    #[schema(required = true, max_length = 4096)]
    about: Option<String>,
    /// Identifier `name@domain`, only when the domain confirms it.
    #[schema(required = true)]
    nip05: Option<String>,
}

impl From<usher_engine::ports::Profile> for Profile {
    fn from(profile: usher_engine::ports::Profile) -> Self {
        Self {
            id: profile.id.to_hex(),
            pubkey: profile.pubkey.to_hex(),
            name: profile.name,
            display_name: profile.display_name,
            picture: profile.picture,
            about: profile.about,
            nip05: profile.nip05.map(|identifier| identifier.to_string()),
        }
    }
}
