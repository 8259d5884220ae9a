//! The claims about a user.
//!
//! Identifying claims come from the key or are verified; names that users choose freely are only in `name`.

use serde_json::{Value, json};
use usher_engine::Origin;
use usher_engine::ports::{Nip05, Profile};
use usher_protocol::keys::{npub, parse_public_key};

use crate::provider::Provider;
use crate::records::Grant;

/// Longest `preferred_username`: what common apps accept as an account name.
const MAX_USERNAME_CHARS: usize = 40;

impl Provider {
    /// The claims that a grant allows. The profile is looked up on relays, within the directory's time limit; without
    /// it, only the claims derived from the key are present.
    pub(crate) async fn claims(&self, grant: &Grant) -> Value {
        let mut claims = json!({ "sub": grant.user.subject });
        if let Some(email) = self.email(grant) {
            claims["email"] = email.into();
        }
        let Ok(key) = parse_public_key(&grant.user.subject) else { return claims };
        if grant.has("profile") {
            let profile = self.directory.profile(&key, Some(Origin::USERS)).await.ok().flatten();
            add_profile(&mut claims, &npub(&key), profile.as_ref());
        }
        claims
    }

    /// An address at the operator's domain, because apps require one to create an account. There is no
    /// `email_verified`, because some apps refuse `false`.
    pub(crate) fn email(&self, grant: &Grant) -> Option<String> {
        let domain = self.options.email_domain.as_ref().filter(|_| grant.has("email"))?;
        Some(format!("{}@{domain}", grant.user.subject))
    }
}

fn add_profile(claims: &mut Value, npub: &str, profile: Option<&Profile>) {
    let nip05 = profile.and_then(|profile| profile.nip05.as_ref()).map(|nip05| nip05.as_str());
    let username = profile.and_then(|profile| profile.nip05.as_ref()).and_then(username);
    let short = || npub.chars().take(MAX_USERNAME_CHARS).collect();
    claims["preferred_username"] = username.unwrap_or_else(short).into();
    claims["nostr_npub"] = npub.into();
    let Some(profile) = profile else { return };
    let name = profile.display_name.as_ref().or(profile.name.as_ref());
    for (claim, value) in
        [("name", name.map(String::as_str)), ("picture", profile.picture.as_deref()), ("nip05", nip05)]
    {
        if let Some(value) = value {
            claims[claim] = value.into();
        }
    }
}

/// A verified identifier as an account name: `alice@shop.example` is `alice_shop.example`, and `_@shop.example` is
/// `shop.example`. It includes the domain, because anybody can be `admin` at their own domain, and has no `@`, which
/// common apps refuse. A domain has no underscore, so names are unique.
fn username(nip05: &Nip05) -> Option<String> {
    let username = match nip05.name() {
        "_" => nip05.domain().to_owned(),
        name => format!("{name}_{}", nip05.domain()),
    };
    // The domain may have a port.
    (username.len() <= MAX_USERNAME_CHARS && !username.contains(':')).then_some(username)
}

#[cfg(test)]
mod tests {
    use usher_protocol::EventId;

    use super::*;

    const KEY: &str = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";

    fn profile(nip05: Option<&str>) -> Profile {
        Profile {
            id: EventId::from_byte_array([1; 32]),
            pubkey: parse_public_key(KEY).unwrap(),
            name: Some("admin".to_owned()),
            display_name: Some("The Admin".to_owned()),
            picture: Some("https://elsewhere.example/a.png".to_owned()),
            about: Some("secret".to_owned()),
            nip05: nip05.map(|nip05| nip05.parse().unwrap()),
        }
    }

    #[test]
    fn usernames_are_verified_or_come_of_the_key() {
        let npub = npub(&parse_public_key(KEY).unwrap());
        let username = |profile: Option<Profile>| {
            let mut claims = json!({});
            add_profile(&mut claims, &npub, profile.as_ref());
            claims["preferred_username"].as_str().unwrap().to_owned()
        };
        let short = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j";
        assert_eq!(username(None), short);
        assert_eq!(username(Some(profile(None))), short, "a name that anybody can choose");
        assert_eq!(username(Some(profile(Some("admin@shop.example")))), "admin_shop.example");
        assert_eq!(username(Some(profile(Some("_@shop.example")))), "shop.example");
        assert_eq!(username(Some(profile(Some("admin@shop.example:8443")))), short);
        let long = format!("admin@{}.example", "shop".repeat(10));
        assert_eq!(username(Some(profile(Some(&long)))), short);
    }

    #[test]
    fn profile_has_no_more_than_documented() {
        let mut claims = json!({});
        add_profile(&mut claims, "npub1x", Some(&profile(Some("a@shop.example"))));
        let expected = json!({
            "preferred_username": "a_shop.example", "nostr_npub": "npub1x", "name": "The Admin",
            "picture": "https://elsewhere.example/a.png", "nip05": "a@shop.example",
        });
        assert_eq!(claims, expected);
    }
}
