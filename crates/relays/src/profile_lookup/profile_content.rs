//! The content of a profile event (kind 0, NIP-01 and NIP-24): untrusted input.

use nostr::Event;
use serde_json::{Map, Value};
use url::Url;
use usher_engine::ports::{
    MAX_ABOUT_CHARS, MAX_DISPLAY_NAME_CHARS, MAX_NAME_CHARS, MAX_PICTURE_BYTES, Nip05, Profile, ProfileChange,
};
use usher_protocol::text::clean;

/// Largest content read, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// The known fields of a profile. An invalid field is dropped; the others stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProfileContent {
    pub(crate) name: Option<String>,
    pub(crate) display_name: Option<String>,
    pub(crate) picture: Option<String>,
    pub(crate) about: Option<String>,
    /// As claimed; not yet confirmed by the domain.
    pub(crate) nip05: Option<Nip05>,
}

impl ProfileContent {
    /// Parses a content; `None` when it is too large or not a JSON object.
    pub(crate) fn read(content: &str) -> Option<Self> {
        let map = parse(content)?;
        let text = |field: &str, most: usize| {
            let cleaned = clean(map.get(field)?.as_str()?, most);
            (!cleaned.is_empty()).then_some(cleaned)
        };
        // A truncated name would be a different name.
        let name = text("name", MAX_NAME_CHARS + 1).filter(|name| name.chars().count() <= MAX_NAME_CHARS);
        let display_name = text("display_name", MAX_DISPLAY_NAME_CHARS);
        // A user name with spaces, as some clients write it, is a display name.
        let (name, display_name) = match name {
            Some(name) if name.contains(' ') => (None, display_name.or(Some(name))),
            name => (name, display_name),
        };
        Some(Self {
            name,
            display_name,
            picture: map.get("picture").and_then(Value::as_str).and_then(picture),
            about: text("about", MAX_ABOUT_CHARS),
            nip05: map.get("nip05").and_then(Value::as_str).and_then(|text| text.trim().parse().ok()),
        })
    }

    /// The profile of `event`; `nip05` as claimed.
    pub(crate) fn into_profile(self, event: &Event) -> Profile {
        let Self { name, display_name, picture, about, nip05 } = self;
        Profile { id: event.id, pubkey: event.pubkey, name, display_name, picture, about, nip05 }
    }

    /// Its approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.name, &self.display_name, &self.picture, &self.about];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        texts + self.nip05.as_ref().map_or(0, |nip05| nip05.as_str().len())
    }
}

/// The normalised URL of a picture: `https` or `http`, with a host, without a password.
pub(crate) fn picture(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_PICTURE_BYTES || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let fits = matches!(url.scheme(), "https" | "http")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && url.as_str().len() <= MAX_PICTURE_BYTES;
    fits.then(|| url.into())
}

/// The content of our own profile: `base` with the changes of `change`. Unknown fields, set by other programs, are kept
/// unless there are too many.
pub(crate) fn write(base: Option<&str>, change: &ProfileChange) -> String {
    let fields = [
        ("name", &change.name),
        ("display_name", &change.display_name),
        ("picture", &change.picture),
        ("about", &change.about),
        ("nip05", &change.nip05),
    ];
    let put = |mut map: Map<String, Value>| {
        for (field, value) in fields {
            match value {
                Some(value) => map.insert(field.to_owned(), Value::String(value.clone())),
                None => map.remove(field),
            };
        }
        Value::Object(map).to_string()
    };
    let content = put(base.and_then(parse).unwrap_or_default());
    if content.len() <= MAX_DOCUMENT_BYTES { content } else { put(Map::new()) }
}

/// The content of our own profile, as a change with the same values.
pub(crate) fn as_change(content: &str) -> ProfileChange {
    let map = parse(content).unwrap_or_default();
    let text = |field: &str| map.get(field).and_then(Value::as_str).map(str::to_owned);
    ProfileChange {
        name: text("name"),
        display_name: text("display_name"),
        picture: text("picture"),
        about: text("about"),
        nip05: text("nip05"),
    }
}

fn parse(content: &str) -> Option<Map<String, Value>> {
    if content.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    serde_json::from_str(content).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> ProfileContent {
        ProfileContent::read(&value.to_string()).unwrap()
    }

    #[test]
    fn valid_profile_is_read() {
        let document = read(json!({
            "name": "fiatjaf", "display_name": "Fiat Jaf", "picture": "https://pic.example/a.png?x=1",
            "about": "he\nshe 👩‍👧", "nip05": "_@Fiatjaf.com", "lud16": "x@y.z", "banner": 7, "deleted": null,
        }));
        assert_eq!((document.name.as_deref(), document.about.as_deref()), (Some("fiatjaf"), Some("he she 👩‍👧")));
        assert_eq!(document.display_name.as_deref(), Some("Fiat Jaf"));
        assert_eq!(document.picture.as_deref(), Some("https://pic.example/a.png?x=1"));
        assert_eq!(document.nip05.as_ref().map(Nip05::as_str), Some("_@fiatjaf.com"));
        assert!(document.bytes() > 60);
    }

    #[test]
    fn only_the_invalid_field_is_dropped() {
        let document = read(json!({
            "name": ["x"], "display_name": 7, "picture": "javascript:alert(1)", "about": {"a": 1}, "nip05": "nobody",
        }));
        assert_eq!(document, ProfileContent::default());
        let document = read(json!({
            "name": "x".repeat(65), "display_name": "d".repeat(5000), "picture": null, "about": "a".repeat(60_000),
            "nip05": true,
        }));
        assert_eq!(document.name, None);
        assert_eq!(document.display_name.unwrap().chars().count(), MAX_DISPLAY_NAME_CHARS);
        assert_eq!(document.about.unwrap().chars().count(), MAX_ABOUT_CHARS);
    }

    #[test]
    fn control_and_bidi_characters_are_removed() {
        let document =
            read(json!({"name": "a\u{202e}b\u{1b}[0m", "about": "x\r\nlevel=error", "display_name": "\u{0}\n "}));
        assert_eq!(document.name.as_deref(), Some("ab[0m"));
        assert_eq!(document.about.as_deref(), Some("x  level=error"));
        assert_eq!(document.display_name, None);
    }

    #[test]
    fn name_with_spaces_becomes_the_display_name() {
        let document = read(json!({"name": "Jane Doe"}));
        assert_eq!((document.name, document.display_name.as_deref()), (None, Some("Jane Doe")));
        let document = read(json!({"name": "Jane Doe", "display_name": "Jane"}));
        assert_eq!((document.name, document.display_name.as_deref()), (None, Some("Jane")));
    }

    #[test]
    fn valid_and_invalid_picture_urls() {
        for good in ["https://pic.example/a.png", "http://pic.example", " HTTPS://Pic.Example/ü "] {
            assert!(picture(good).is_some(), "{good}");
        }
        assert_eq!(picture("https://pic.example/\"><b>").as_deref(), Some("https://pic.example/%22%3E%3Cb%3E"));
        let long = format!("https://pic.example/{}", "a".repeat(MAX_PICTURE_BYTES));
        let grows = format!("https://pic.example/{}", "ü".repeat(900));
        for bad in ["", "//pic.example/a", "data:image/png;base64,AA", "ftp://a.example", "https://", &long, &grows] {
            assert_eq!(picture(bad), None, "{bad}");
        }
        for bad in ["u:p@pic.example", "u@pic.example", "pic.example/a b", "pic.example/\u{7}"] {
            assert_eq!(picture(&format!("https://{bad}")), None, "{bad}");
        }
    }

    #[test]
    fn invalid_content_is_refused() {
        let large = json!({"about": "x".repeat(MAX_DOCUMENT_BYTES)}).to_string();
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(30_000), "]".repeat(30_000));
        for content in ["", "null", "[]", "\"x\"", "7", "{", "{\"a\":1}x", "{a:1}", &large, &deep] {
            assert_eq!(ProfileContent::read(content), None);
        }
        assert_eq!(ProfileContent::read("{}"), Some(ProfileContent::default()));
    }

    #[test]
    fn our_profile_keeps_unknown_fields() {
        let change = ProfileChange { name: Some("usher".to_owned()), ..ProfileChange::default() };
        let content = write(Some(r#"{"name":"old","about":"old","lud16":"a@b.c"}"#), &change);
        assert_eq!(serde_json::from_str::<Value>(&content).unwrap(), json!({"name": "usher", "lud16": "a@b.c"}));
        assert_eq!(as_change(&content), change);
        assert_eq!(write(None, &change), r#"{"name":"usher"}"#);
        assert_eq!(write(Some("nonsense"), &change), r#"{"name":"usher"}"#);
        let full = json!({"x": "y".repeat(MAX_DOCUMENT_BYTES - 10)}).to_string();
        assert_eq!(write(Some(&full), &change), r#"{"name":"usher"}"#, "too much of it");
    }
}
