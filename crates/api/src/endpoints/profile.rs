//! A profile, in responses, and why one could not be looked up.

use serde::Serialize;
use usher_engine::ports::LookUpError;
use utoipa::ToSchema;

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

impl From<LookUpError> for Problem {
    fn from(error: LookUpError) -> Self {
        match error {
            LookUpError::NoRelay => no_relay(),
            LookUpError::Busy => Self::overloaded("too many concurrent look-ups"),
        }
    }
}

/// No relay responds.
pub(super) fn no_relay() -> Problem {
    Problem::new(ErrorCode::NoRelayConnected, "no relay is connected, or none responded in time")
        .retry_after(RETRY_SECONDS)
}

/// A profile. Its texts come from an untrusted source: they have one line each, no control characters, and a limited
/// length.
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
    /// The id of the Nostr event with the profile.
    id: String,
    /// The key of the user.
    pubkey: String,
    /// User name, without spaces.
    #[schema(required = true, max_length = 64)]
    name: Option<String>,
    /// The name to display.
    #[schema(required = true, max_length = 128)]
    display_name: Option<String>,
    /// `https` or `http` URL of a picture. It is untrusted.
    #[schema(required = true, max_length = 2048)]
    picture: Option<String>,
    /// A short description.
    #[schema(required = true, max_length = 4096)]
    about: Option<String>,
    /// Identifier `name@domain`, only if the domain confirms it.
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
