//! The directory port: profiles of users, and the service's own. Anybody can write a profile: data about others is
//! validated, bounded and cleaned.

mod nip05_identifier;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;
use usher_protocol::text::clean;
use usher_protocol::{EventId, PublicKey};
use utoipa::ToSchema;

use super::StoreError;
use crate::request_body;
use crate::request_body::{Nip05Identifier, Nullable, OneLine, UserName, WebUrl};
use crate::{FieldError, FieldErrors, Origin};
pub use nip05_identifier::{MAX_NIP05_BYTES, Nip05, Nip05Error};

/// Longest [`Profile::name`], in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// Longest [`Profile::display_name`], in characters.
pub const MAX_DISPLAY_NAME_CHARS: usize = 128;
/// Longest [`Profile::about`], in characters.
pub const MAX_ABOUT_CHARS: usize = 4096;
/// Longest [`Profile::picture`], in bytes.
pub const MAX_PICTURE_BYTES: usize = 2048;

/// Looks up profiles (kind 0) and NIP-05 identifiers, and publishes the service's own profile. Results come within a
/// time limit, from a cache where possible; simultaneous look-ups of the same thing share one query. The concurrent
/// look-ups of one API key, `origin`, are limited to a share.
#[async_trait]
pub trait Directory: Send + Sync {
    /// The profile of a user: the newest valid event on the service's relays, the user's own relays and those of their
    /// NIP-65 list. `None` if relays responded and none has one.
    ///
    /// # Errors
    /// [`LookUpError`]. A user or a single relay cannot cause one; only the silence of all relays can.
    async fn profile(&self, key: &PublicKey, origin: Option<Origin>) -> Result<Option<Profile>, LookUpError>;

    /// Removes a user's profile from the cache.
    fn forget_profile(&self, key: &PublicKey);

    /// The key that a NIP-05 identifier names. `None` if its domain does not confirm it: there is no such name, the
    /// response violates the NIP or is a redirect, the domain has no public address, or it does not respond in time.
    ///
    /// # Errors
    /// [`LookUpError::Busy`].
    async fn nip05(&self, identifier: &Nip05, origin: Option<Origin>) -> Result<Option<Nip05Answer>, LookUpError>;

    /// The last published profile of the service; `None` before the first.
    fn own_profile(&self) -> Option<Profile>;

    /// Publishes the service's own profile, replacing the last one. `None` removes a field; fields unknown to Usher
    /// (`website`, `lud16`, …) stay. It is durable when this returns; relays that are down get it later. `nip05` is
    /// returned without confirmation by its domain.
    ///
    /// # Errors
    /// [`PublishError`]; nothing was published then.
    async fn publish_profile(&self, change: ProfileChange) -> Result<Profile, PublishError>;

    /// Checks whether [`publish_profile`](Self::publish_profile) would accept a profile.
    ///
    /// # Errors
    /// The invalid fields.
    fn check_profile(&self, change: &ProfileChange) -> Result<(), Vec<FieldError>>;

    /// The content of `/.well-known/nostr.json` (NIP-05): the service's own name, if its profile has one, and no other.
    fn well_known(&self) -> WellKnown;
}

/// A profile. Its texts come from an untrusted source: they have one line each, no control characters, and a limited
/// length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "3f2f8a3b1c0d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "pubkey": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "name": "ada",
    "display_name": "Ada Lovelace",
    "picture": "https://example.com/ada.png",
    "about": null,
    "nip05": "ada@example.com",
}))]
pub struct Profile {
    /// The id of the Nostr event with the profile.
    #[schema(value_type = String)]
    pub id: EventId,
    /// The key of the user.
    #[schema(value_type = String)]
    pub pubkey: PublicKey,
    /// User name, without spaces.
    #[schema(required = true, max_length = 64)]
    pub name: Option<String>,
    /// The name to display.
    #[schema(required = true, max_length = 128)]
    pub display_name: Option<String>,
    /// `https` or `http` URL of a picture. It is untrusted.
    #[schema(required = true, max_length = 2048)]
    pub picture: Option<String>,
    /// A short description.
    #[schema(required = true, max_length = 4096)]
    pub about: Option<String>,
    /// Identifier `name@domain`, only if the domain confirms it.
    #[schema(required = true, value_type = Option<String>)]
    pub nip05: Option<Nip05>,
}

request_body! {
    /// The service's own profile. A field that is missing or `null` is removed from it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ProfileChange, ProfileChangeDraft = "ProfileRequest", example {
        "name": "shop",
        "display_name": "The Shop",
        "picture": "https://shop.example/logo.png",
        "about": "Tickets and more",
        "nip05": "_@shop.example",
    } {
        /// User name, without spaces.
        name: Nullable<UserName>,
        /// The name to display, on one line.
        display_name: Nullable<OneLine<128>>,
        /// `https` or `http` URL of a picture.
        picture: Nullable<WebUrl>,
        /// A short description, on one line.
        about: Nullable<OneLine<4096>>,
        /// Identifier `name@domain`. The domain must serve the response of `GET /.well-known/nostr.json` of this service.
        nip05: Nullable<Nip05Identifier>,
    }
}

impl ProfileChange {
    /// Checks all fields; `is_picture` returns whether a text of allowed length is an `https` or `http` URL.
    ///
    /// # Errors
    /// The invalid fields.
    pub fn check(&self, is_picture: impl Fn(&str) -> bool) -> Result<(), Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let mut fault = |field: &str, detail: String| errors.add(format!("/{field}"), detail);
        let texts = [
            ("name", &self.name, MAX_NAME_CHARS),
            ("display_name", &self.display_name, MAX_DISPLAY_NAME_CHARS),
            ("about", &self.about, MAX_ABOUT_CHARS),
        ];
        for (field, text, most) in texts {
            let Some(text) = text else { continue };
            if text.is_empty() {
                fault(field, "must not be empty; leave it out".to_owned());
            } else if text.chars().count() > most {
                fault(field, format!("must have at most {most} characters"));
            } else if clean(text, most) != *text {
                fault(field, "must be one line without control characters or spaces at its ends".to_owned());
            } else if field == "name" && text.contains(char::is_whitespace) {
                fault(field, "must have no spaces".to_owned());
            }
        }
        if let Some(picture) = &self.picture {
            if picture.len() > MAX_PICTURE_BYTES {
                fault("picture", format!("must have at most {MAX_PICTURE_BYTES} bytes"));
            } else if !is_picture(picture) {
                fault("picture", "must be an https or http URL".to_owned());
            }
        }
        if let Some(Err(error)) = self.nip05.as_deref().map(str::parse::<Nip05>) {
            fault("nip05", error.to_string());
        }
        errors.finish(Some(()))
    }
}

/// The key of a NIP-05 identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Nip05, example = json!({
    "pubkey": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "relays": ["wss://relay.example"],
}))]
pub struct Nip05Answer {
    /// The key.
    #[schema(value_type = String)]
    pub pubkey: PublicKey,
    /// The user's relays according to the domain.
    pub relays: Vec<String>,
}

/// Names and keys (NIP-05): the service itself, and nobody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "names": { "shop": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e" },
    "relays": {
        "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e": ["wss://relay.example"],
    },
}))]
pub struct WellKnown {
    /// Name to key.
    pub names: BTreeMap<String, String>,
    /// Key to relays.
    pub relays: BTreeMap<String, Vec<String>>,
}

impl WellKnown {
    /// Only the entries of `name` (`?name=`), ignoring case.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.names.retain(|known, _| known.eq_ignore_ascii_case(name));
        let Self { names, relays } = &mut self;
        relays.retain(|key, _| names.values().any(|named| named == key));
        self
    }
}

/// Why a look-up has no result. A retry may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookUpError {
    /// No relay is connected, or none responded in time, so the profile is unknown.
    #[error("no relay answered")]
    NoRelay,
    /// Too many look-ups at a time.
    #[error("too many look-ups at a time")]
    Busy,
}

/// Why a profile was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// These fields are invalid.
    #[error("the profile has invalid fields")]
    Invalid(Vec<FieldError>),
    /// No relay responded, so the profile to be replaced is unknown.
    #[error("no relay answered")]
    NoRelay,
    /// It could not be made durable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be signed.
    #[error("the profile cannot be signed")]
    Signing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_invalid_fields_are_reported_at_once() {
        let is_picture = |text: &str| text.starts_with("https://");
        let good = ProfileChange {
            name: Some("usher".to_owned()),
            display_name: Some("The Usher – Kasse 1".to_owned()),
            picture: Some("https://shop.example/usher.png".to_owned()),
            about: Some("Sells tickets".to_owned()),
            nip05: Some("_@shop.example".to_owned()),
        };
        assert_eq!(good.check(is_picture), Ok(()));
        assert_eq!(ProfileChange::default().check(is_picture), Ok(()));
        let bad = ProfileChange {
            name: Some("the usher".to_owned()),
            display_name: Some("a\nb".to_owned()),
            picture: Some("javascript:alert(1)".to_owned()),
            about: Some("x".repeat(MAX_ABOUT_CHARS + 1)),
            nip05: Some("shop.example".to_owned()),
        };
        let fields: Vec<_> = bad.check(is_picture).unwrap_err().into_iter().map(|error| error.pointer).collect();
        assert_eq!(fields, ["/name", "/display_name", "/about", "/picture", "/nip05"]);
        let empty = ProfileChange { name: Some(String::new()), ..ProfileChange::default() };
        assert_eq!(empty.check(is_picture).unwrap_err().len(), 1);
    }

    #[test]
    fn single_name_is_selected() {
        let known = WellKnown {
            names: BTreeMap::from([("pay".to_owned(), "aa".to_owned())]),
            relays: BTreeMap::from([("aa".to_owned(), vec!["wss://relay.example".to_owned()])]),
        };
        assert_eq!(known.clone().only("pay"), known);
        assert_eq!(known.only("other"), WellKnown::default());
    }
}
