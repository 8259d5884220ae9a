//! JSON formats of values, with bounds for parsing. Errors never contain a value, which may be a secret.

use std::fmt;

use nostr::PublicKey;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::value::RawValue;

use crate::text;

/// Longest identifier of anything (token, challenge, request id, subscription id), in bytes.
pub(crate) const MAX_ID_BYTES: usize = 256;

/// A `u64` as a string of decimal digits; a JSON integer is accepted, too.
pub(crate) mod timestamp {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(secs: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(secs)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(Seconds)
    }

    struct Seconds;

    impl Visitor<'_> for Seconds {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Unix seconds as a string of digits or an integer")
        }

        fn visit_u64<E: Error>(self, secs: u64) -> Result<u64, E> {
            Ok(secs)
        }

        fn visit_str<E: Error>(self, digits: &str) -> Result<u64, E> {
            if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Err(E::custom("not a string of digits"));
            }
            digits.parse().map_err(|_| E::custom("not Unix seconds"))
        }
    }
}

/// As [`timestamp`], or `null`.
pub(crate) mod optional_timestamp {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(secs: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match secs {
            Some(secs) => serializer.collect_str(secs),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        #[derive(Deserialize)]
        struct Timestamp(#[serde(with = "timestamp")] u64);
        Ok(Option::<Timestamp>::deserialize(deserializer)?.map(|secs| secs.0))
    }
}

/// A public key as 64 hexadecimal characters; must be a point on the curve.
pub(crate) mod public_key {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(key: &PublicKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(key)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PublicKey, D::Error> {
        crate::keys::parse_public_key(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// 32 bytes as 64 hexadecimal characters.
pub(crate) mod hex32 {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(String::deserialize(deserializer)?, &mut bytes)
            .map_err(|_| D::Error::custom("not 64 hexadecimal characters"))?;
        Ok(bytes)
    }
}

/// Whether `text` is 1 to `max` bytes of visible ASCII, as in identifiers, tokens, invoices and addresses.
pub(crate) fn is_visible(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(crate) fn at_most<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.len() > MAX {
        return Err(D::Error::custom(format_args!("longer than {MAX} bytes")));
    }
    Ok(text)
}

/// An identifier: 1 to [`MAX_ID_BYTES`] bytes without control characters. Not truncated, because a part of it has no
/// meaning.
pub(crate) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    longer_id::<D, MAX_ID_BYTES>(deserializer)
}

/// As [`id`], of at most `MAX` bytes.
pub(crate) fn longer_id<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    let id = at_most::<D, MAX>(deserializer)?;
    if id.is_empty() || id.chars().any(char::is_control) {
        return Err(D::Error::custom("empty, or with control characters"));
    }
    Ok(id)
}

/// As [`id`], or `null`.
pub(crate) fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Id(#[serde(deserialize_with = "id")] String);
    Ok(Option::<Id>::deserialize(deserializer)?.map(|id| id.0))
}

/// 1 to `MAX` bytes of visible ASCII.
pub(crate) fn visible<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !is_visible(&text, MAX) {
        return Err(D::Error::custom(format_args!("not 1 to {MAX} visible ASCII characters")));
    }
    Ok(text)
}

/// As [`visible`], or `null`.
pub(crate) fn optional_visible<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if !is_visible(&text, MAX) => {
            Err(D::Error::custom(format_args!("not 1 to {MAX} visible ASCII characters")))
        }
        text => Ok(text),
    }
}

/// Text for people, [cleaned](text::clean) and truncated to `MAX` characters.
pub(crate) fn words<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<String, D::Error> {
    Ok(text::clean(&String::deserialize(deserializer)?, MAX))
}

/// As [`words`]; `null` or an empty result is `None`.
pub(crate) fn optional_words<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(|words| text::clean(&words, MAX)).filter(|w| !w.is_empty()))
}

/// The first `max_items` distinct texts of a list, or of a single text, that `keep` accepts; the rest is dropped. Other
/// values give an empty list, so that a login does not fail for them.
pub(crate) fn some_of<'de, D: Deserializer<'de>>(
    deserializer: D,
    max_items: usize,
    keep: fn(&str) -> bool,
) -> Result<Vec<String>, D::Error> {
    let mut kept = Vec::new();
    for text in deserializer.deserialize_any(TextsVisitor)?.0 {
        if kept.len() < max_items && keep(&text) && !kept.contains(&text) {
            kept.push(text);
        }
    }
    Ok(kept)
}

/// A list of strings, or a single one.
struct Texts(Vec<String>);

struct OneText(Option<String>);

impl<'de> Deserialize<'de> for OneText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(if let serde_json::Value::String(text) = value { Some(text) } else { None }))
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_unit<E: Error>(self) -> Result<Texts, E> {
        Ok(Texts(Vec::new()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Texts, E> {
        Ok(Texts(Vec::new()))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Texts, E> {
        Ok(Texts(Vec::new()))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Texts, E> {
        Ok(Texts(Vec::new()))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Texts, E> {
        Ok(Texts(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(item) = items.next_element::<OneText>()? {
            texts.extend(item.0);
        }
        Ok(Texts(texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Texts, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Texts(Vec::new()))
    }
}

/// An optional value; an unreadable one is treated as absent.
pub(crate) fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let json = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(json.and_then(|json| serde_json::from_str(json.get()).ok()))
}
