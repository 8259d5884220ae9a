//! The proof of a login by a browser extension (NIP-07), a signer app (NIP-55), a remote signer (NIP-46) or a passkey:
//! one signed NIP-98 event. It contains the login's page (tag `u`) and challenge (tag `challenge`), so it is valid
//! nowhere else.

use nostr::{Event, EventId, JsonUtil as _, PublicKey};
use serde_json::json;

/// The kind of the event (NIP-98).
pub const KIND: u16 = 27_235;

/// How far the event's `created_at` may be from the service's clock, in seconds (NIP-98).
pub const WINDOW_SECS: u64 = 60;

/// Longest event text parsed, in bytes. Signers return what they received, less than 1 KiB.
pub const MAX_BYTES: usize = 8 * 1024;

/// Most tags of an event: three are ours, and some signers add one with their name.
const MAX_TAGS: usize = 16;

/// What must be signed for one login.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginChallenge {
    /// The address of the login's page, without its secret.
    pub url: String,
    /// Random, unique to this login.
    pub challenge: String,
}

crate::debug_shows!(LoginChallenge { url });

/// Why an event does not prove a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginProofError {
    /// Not a Nostr event.
    #[error("not a signed Nostr event")]
    Malformed,
    /// Another kind than 27235.
    #[error("the event is not of kind 27235")]
    Kind,
    /// Its content is not empty.
    #[error("the event's content is not empty")]
    Content,
    /// A tag of the challenge is missing, occurs twice or has another value: the event was signed for something else.
    #[error("the event was signed for another login, service or method")]
    Tags,
    /// Its `created_at` is more than [`WINDOW_SECS`] away.
    #[error("the event is too old, or its time is in the future")]
    Time,
    /// Its id or its signature is wrong.
    #[error("the event's signature is not valid")]
    Signature,
}

impl LoginChallenge {
    /// The event to sign as JSON text: `{kind, created_at, tags, content}`.
    pub fn template(&self, created_at: u64) -> String {
        json!({ "kind": KIND, "created_at": created_at, "tags": self.tags(), "content": "" }).to_string()
    }

    /// The tags that the event must have.
    pub fn tags(&self) -> [[&str; 2]; 3] {
        [["u", &self.url], ["method", "POST"], ["challenge", &self.challenge]]
    }

    /// As [`verify`](Self::verify), of JSON text. Returns the id of the event as well.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_json(&self, json: &str, now: u64) -> Result<(PublicKey, EventId), LoginProofError> {
        if json.len() > MAX_BYTES {
            return Err(LoginProofError::Malformed);
        }
        let event = Event::from_json(json).map_err(|_| LoginProofError::Malformed)?;
        Ok((self.verify(&event, now)?, event.id))
    }

    /// As [`verify_json`](Self::verify_json), without the limit on the event's age: its signer was asked some time ago,
    /// and the challenge is unique.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_older_json(&self, json: &str, now: u64) -> Result<PublicKey, LoginProofError> {
        if json.len() > MAX_BYTES {
            return Err(LoginProofError::Malformed);
        }
        let event = Event::from_json(json).map_err(|_| LoginProofError::Malformed)?;
        self.verify(&event, event.created_at.as_secs().min(now))
    }

    /// As [`verify_json`](Self::verify_json), and the event's tag `passkey` must have this passkey and this challenge
    /// of its authenticator.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_passkey_json(
        &self,
        json: &str,
        credential_id: &str,
        passkey_challenge: &str,
        now: u64,
    ) -> Result<PublicKey, LoginProofError> {
        if json.len() > MAX_BYTES {
            return Err(LoginProofError::Malformed);
        }
        let event = Event::from_json(json).map_err(|_| LoginProofError::Malformed)?;
        if !has_once(&event, "passkey", &[credential_id, passkey_challenge]) {
            return Err(LoginProofError::Tags);
        }
        self.verify(&event, now)
    }

    /// The key that signed `event` for this login; `now` is in Unix seconds.
    ///
    /// # Errors
    /// [`LoginProofError`]: the first failed check.
    pub fn verify(&self, event: &Event, now: u64) -> Result<PublicKey, LoginProofError> {
        if event.kind.as_u16() != KIND {
            return Err(LoginProofError::Kind);
        }
        if !event.content.is_empty() {
            return Err(LoginProofError::Content);
        }
        if event.tags.len() > MAX_TAGS || !self.tags().iter().all(|[name, value]| has_once(event, name, &[value])) {
            return Err(LoginProofError::Tags);
        }
        if event.created_at.as_secs().abs_diff(now) > WINDOW_SECS {
            return Err(LoginProofError::Time);
        }
        event.verify().map_err(|_| LoginProofError::Signature)?;
        Ok(event.pubkey)
    }
}

fn has_once(event: &Event, name: &str, values: &[&str]) -> bool {
    let mut named = event.tags.iter().map(|tag| tag.as_slice()).filter(|tag| tag.first().is_some_and(|n| n == name));
    let (Some([_, found @ ..]), None) = (named.next(), named.next()) else { return false };
    found == values
}

#[cfg(test)]
mod tests {
    use nostr::{EventBuilder, Keys, Kind, SecretKey, Tag, Timestamp};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn challenge() -> LoginChallenge {
        LoginChallenge { url: "https://shop.example/login/7".to_owned(), challenge: "c4a11e".to_owned() }
    }

    fn keys() -> Keys {
        Keys::new(SecretKey::from_slice(&[7; 32]).unwrap())
    }

    fn signed(kind: u16, content: &str, tags: &[&[&str]], at: u64) -> Event {
        let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap());
        let event = EventBuilder::new(Kind::from(kind), content).tags(tags).custom_created_at(Timestamp::from(at));
        event.sign_with_keys(&keys()).unwrap()
    }

    const U: &[&str] = &["u", "https://shop.example/login/7"];
    const METHOD: &[&str] = &["method", "POST"];
    const CHALLENGE: &[&str] = &["challenge", "c4a11e"];

    #[test]
    fn what_the_template_asks_for_is_accepted() {
        let template: serde_json::Value = serde_json::from_str(&challenge().template(NOW)).unwrap();
        assert_eq!(
            template,
            json!({ "kind": 27235, "created_at": NOW, "content": "", "tags": [U, METHOD, CHALLENGE] })
        );
        for (tags, at) in [
            (vec![U, METHOD, CHALLENGE], NOW),
            (vec![CHALLENGE, &["client", "an extension"], U, METHOD], NOW - WINDOW_SECS),
            (vec![U, METHOD, CHALLENGE], NOW + WINDOW_SECS),
        ] {
            let event = signed(KIND, "", &tags, at);
            assert_eq!(challenge().verify_json(&event.as_json(), NOW), Ok((keys().public_key(), event.id)));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let right: &[&[&str]] = &[U, METHOD, CHALLENGE];
        let refused = |event: Event| challenge().verify(&event, NOW).unwrap_err();
        assert_eq!(refused(signed(1, "", right, NOW)), LoginProofError::Kind);
        assert_eq!(refused(signed(22_242, "", right, NOW)), LoginProofError::Kind);
        assert_eq!(refused(signed(KIND, "x", right, NOW)), LoginProofError::Content);
        assert_eq!(refused(signed(KIND, "", right, NOW - WINDOW_SECS - 1)), LoginProofError::Time);
        assert_eq!(refused(signed(KIND, "", right, NOW + WINDOW_SECS + 1)), LoginProofError::Time);
        let many: Vec<&[&str]> = right.iter().copied().chain(std::iter::repeat_n(&["t", "x"][..], MAX_TAGS)).collect();
        for tags in [
            &[METHOD, CHALLENGE][..],
            &[U, CHALLENGE],
            &[U, METHOD],
            &[&["u", "https://shop.example/login/8"], METHOD, CHALLENGE],
            &[&["u", "https://shop.example/login/7/"], METHOD, CHALLENGE],
            &[&["u", "https://evil.example/login/7"], METHOD, CHALLENGE],
            &[U, &["method", "GET"], CHALLENGE],
            &[U, &["method", "post"], CHALLENGE],
            &[U, METHOD, &["challenge", "c4a11f"]],
            &[U, METHOD, &["challenge"]],
            &[U, METHOD, &["challenge", "c4a11e", "and more"]],
            &[U, METHOD, CHALLENGE, CHALLENGE],
            &[U, METHOD, CHALLENGE, &["challenge", "other"]],
            &[U, &["u", "https://evil.example/"], METHOD, CHALLENGE],
            &many,
        ] {
            assert_eq!(refused(signed(KIND, "", tags, NOW)), LoginProofError::Tags, "{tags:?}");
        }
    }

    #[test]
    fn older_event_is_accepted_where_its_signer_was_asked_before() {
        let verified =
            |at: u64, tags: &[&[&str]]| challenge().verify_older_json(&signed(KIND, "", tags, at).as_json(), NOW);
        for at in [0, NOW - 3_600, NOW, NOW + WINDOW_SECS] {
            assert_eq!(verified(at, &[U, METHOD, CHALLENGE]), Ok(keys().public_key()), "{at}");
        }
        assert_eq!(verified(NOW + WINDOW_SECS + 1, &[U, METHOD, CHALLENGE]), Err(LoginProofError::Time));
        assert_eq!(verified(NOW, &[U, METHOD]), Err(LoginProofError::Tags));
        assert_eq!(challenge().verify_older_json("{}", NOW), Err(LoginProofError::Malformed));
    }

    #[test]
    fn event_for_a_passkey_names_it_and_its_challenge_once() {
        let verified = |tags: &[&[&str]]| {
            let event = signed(KIND, "", &[&[U, METHOD, CHALLENGE], tags].concat(), NOW).as_json();
            challenge().verify_passkey_json(&event, "id", "x", NOW)
        };
        assert_eq!(verified(&[&["passkey", "id", "x"]]), Ok(keys().public_key()));
        for tags in [
            &[][..],
            &[&["passkey", "id"][..]],
            &[&["passkey", "other", "x"]],
            &[&["passkey", "id", "y"]],
            &[&["passkey", "id", "x", "more"]],
            &[&["passkey", "id", "x"], &["passkey", "other", "x"]],
        ] {
            assert_eq!(verified(tags), Err(LoginProofError::Tags), "{tags:?}");
        }
    }

    #[test]
    fn id_and_signature_are_verified() {
        let right = signed(KIND, "", &[U, METHOD, CHALLENGE], NOW);
        let other = signed(KIND, "", &[U, METHOD, CHALLENGE], NOW - 1);
        let stranger = Keys::new(SecretKey::from_slice(&[9; 32]).unwrap());
        let mut wrong_signature = right.clone();
        wrong_signature.sig = other.sig;
        let mut wrong_id = right.clone();
        wrong_id.id = other.id;
        let mut wrong_author = right.clone();
        wrong_author.pubkey = stranger.public_key();
        for event in [wrong_signature, wrong_id, wrong_author] {
            assert_eq!(challenge().verify(&event, NOW), Err(LoginProofError::Signature));
        }
        for text in ["", "{}", "null", "[]", &right.as_json()[1..], &" ".repeat(MAX_BYTES + 1)] {
            assert_eq!(challenge().verify_json(text, NOW), Err(LoginProofError::Malformed), "{text}");
        }
    }
}
