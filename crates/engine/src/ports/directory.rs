//! The directory port: who users are, and who we say we are.
//!
//! What it answers about others was written by strangers. It is checked, bounded and cleaned before it gets here, so
//! that it can be shown, logged and passed on as it is.

mod nip05;

use std::collections::BTreeMap;

use async_trait::async_trait;
use usher_protocol::text::clean;
use usher_protocol::{EventId, PublicKey};

use super::StoreError;
pub use nip05::{MAX_NIP05_BYTES, Nip05, Nip05Error};

/// Longest [`Profile::name`], in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// Longest [`Profile::display_name`], in characters.
pub const MAX_DISPLAY_NAME_CHARS: usize = 128;
/// Longest [`Profile::about`], in characters.
pub const MAX_ABOUT_CHARS: usize = 4096;
/// Longest [`Profile::picture`], in bytes.
pub const MAX_PICTURE_BYTES: usize = 2048;

/// Looks up profiles (kind 0) and NIP-05 identifiers, and publishes the service's own profile.
///
/// Answers come within a bound, from a cache where possible; simultaneous look-ups of one thing are one.
#[async_trait]
pub trait Directory: Send + Sync {
    /// The profile of a user: of the newest valid event at our relays, the user's own, and those of their NIP-65 list.
    /// `None` when relays answered and none has one.
    ///
    /// # Errors
    /// [`LookUpError`]. Nothing that the user or a relay can cause but the silence of all relays.
    async fn profile(&self, key: &PublicKey) -> Result<Option<Profile>, LookUpError>;

    /// Whom a NIP-05 identifier names. `None` when its domain does not say so now, for whatever reason: there is no such
    /// name, its answer is not what the NIP wants, it redirects, it is at no public address, nobody answers in time.
    ///
    /// # Errors
    /// [`LookUpError::Busy`].
    async fn nip05(&self, identifier: &Nip05) -> Result<Option<Nip05Answer>, LookUpError>;

    /// The service's own profile as published last; `None` before the first time.
    fn own_profile(&self) -> Option<Profile>;

    /// Publishes the service's own profile in place of the last one. A field that is `None` is not in it any more;
    /// fields that Usher does not know (`website`, `lud16`, …), set with another program, stay.
    ///
    /// It is durable when this returns, and every relay of ours gets it: those that are down when they are back.
    /// `nip05` is answered as published, without asking its domain.
    ///
    /// # Errors
    /// [`PublishError`]; nothing has been published then.
    async fn publish_profile(&self, change: ProfileChange) -> Result<Profile, PublishError>;

    /// What is wrong with a profile, by field; nothing when [`publish_profile`](Self::publish_profile) would take it.
    fn profile_faults(&self, change: &ProfileChange) -> Vec<ProfileFault>;

    /// What `/.well-known/nostr.json` says (NIP-05): the service's own name when its profile has one, and nobody else.
    fn well_known(&self) -> WellKnown;
}

/// A profile (interface specification 2.10). Every text is one line, without control characters, and bounded by the
/// constants of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The event that says so.
    pub id: EventId,
    /// Whose it is.
    pub pubkey: PublicKey,
    /// User name, no spaces.
    pub name: Option<String>,
    /// Name as shown.
    pub display_name: Option<String>,
    /// `https` or `http` address of a picture. Leads wherever its owner wants: whoever loads it must look.
    pub picture: Option<String>,
    /// A few words.
    pub about: Option<String>,
    /// Identifier, verified: its domain names this key.
    pub nip05: Option<Nip05>,
}

/// The service's own profile as it shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileChange {
    /// See [`Profile::name`].
    pub name: Option<String>,
    /// See [`Profile::display_name`].
    pub display_name: Option<String>,
    /// See [`Profile::picture`].
    pub picture: Option<String>,
    /// See [`Profile::about`].
    pub about: Option<String>,
    /// See [`Profile::nip05`]; text, as it may not be one.
    pub nip05: Option<String>,
}

/// A field of a [`ProfileChange`] that cannot be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFault {
    /// The field's name, as in JSON.
    pub field: &'static str,
    /// What is wrong, fit for the caller's eyes.
    pub problem: String,
}

impl ProfileChange {
    /// Everything that is wrong with it, by field; `is_picture` tells whether a text of allowed length is an `https` or
    /// `http` URL.
    pub fn faults(&self, is_picture: impl Fn(&str) -> bool) -> Vec<ProfileFault> {
        let mut faults = Vec::new();
        let mut fault = |field, problem: String| faults.push(ProfileFault { field, problem });
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
        faults
    }
}

/// Whom a NIP-05 identifier names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nip05Answer {
    /// The key.
    pub pubkey: PublicKey,
    /// Relays at which the user can be found, says the domain: relay addresses, a bounded number, not tried.
    pub relays: Vec<String>,
}

/// The content of `/.well-known/nostr.json`, both maps empty when we have no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WellKnown {
    /// Name to key, 64 lower-case hexadecimal characters.
    pub names: BTreeMap<String, String>,
    /// Key to addresses of our relays.
    pub relays: BTreeMap<String, Vec<String>>,
}

impl WellKnown {
    /// What is said to whoever asks for `name` alone (`?name=`).
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.names.retain(|known, _| known == name);
        let Self { names, relays } = &mut self;
        relays.retain(|key, _| names.values().any(|named| named == key));
        self
    }
}

/// Why a look-up has no answer. Asking again later may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookUpError {
    /// No relay is connected, or none answered in time: nothing is known about whether there is such a profile.
    #[error("no relay answered")]
    NoRelay,
    /// Too many look-ups at a time.
    #[error("too many look-ups at a time")]
    Busy,
}

/// Why a profile has not been published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// What is wrong with it: all of it at once.
    #[error("the profile cannot be published as it is")]
    Invalid(Vec<ProfileFault>),
    /// No relay answered, and so it is not known what our key has published before: it would be overwritten blindly.
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
    fn every_fault_is_told_at_once() {
        let is_picture = |text: &str| text.starts_with("https://");
        let good = ProfileChange {
            name: Some("usher".to_owned()),
            display_name: Some("The Usher – Kasse 1".to_owned()),
            picture: Some("https://shop.example/usher.png".to_owned()),
            about: Some("Sells tickets".to_owned()),
            nip05: Some("_@shop.example".to_owned()),
        };
        assert_eq!(good.faults(is_picture), []);
        assert_eq!(ProfileChange::default().faults(is_picture), []);
        let bad = ProfileChange {
            name: Some("the usher".to_owned()),
            display_name: Some("a\nb".to_owned()),
            picture: Some("javascript:alert(1)".to_owned()),
            about: Some("x".repeat(MAX_ABOUT_CHARS + 1)),
            nip05: Some("shop.example".to_owned()),
        };
        let fields: Vec<_> = bad.faults(is_picture).into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["name", "display_name", "about", "picture", "nip05"]);
        let empty = ProfileChange { name: Some(String::new()), ..ProfileChange::default() };
        assert_eq!(empty.faults(is_picture).len(), 1);
    }

    #[test]
    fn one_name_is_told_alone() {
        let known = WellKnown {
            names: BTreeMap::from([("pay".to_owned(), "aa".to_owned())]),
            relays: BTreeMap::from([("aa".to_owned(), vec!["wss://relay.example".to_owned()])]),
        };
        assert_eq!(known.clone().only("pay"), known);
        assert_eq!(known.only("other"), WellKnown::default());
    }
}
