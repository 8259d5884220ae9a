//! Messages from relays (NIP-01, NIP-42), parsed without copying. Most events are refused by their head alone.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A message from a relay.
#[allow(missing_docs, reason = "each variant shows its fields")]
#[derive(Debug)]
pub enum RelayMessage<'a> {
    /// `["EVENT", <subscription>, <event>]`
    Event { subscription: Cow<'a, str>, event: &'a RawValue },
    /// `["OK", <event id>, <accepted>, <text>]`
    Ok { event_id: Cow<'a, str>, accepted: bool, text: Cow<'a, str> },
    /// `["EOSE", <subscription>]`
    EndOfStored { subscription: Cow<'a, str> },
    /// `["CLOSED", <subscription>, <text>]`
    Closed { subscription: Cow<'a, str>, text: Cow<'a, str> },
    /// `["NOTICE", <text>]`
    Notice { text: Cow<'a, str> },
    /// `["AUTH", <challenge>]`
    Auth { challenge: Cow<'a, str> },
    /// Any other well-formed message of other NIPs, which we did not request.
    Other,
}

/// The fields of an event by which most unwanted ones are refused.
#[allow(missing_docs, reason = "the fields of NIP-01")]
#[derive(Debug, Deserialize)]
pub struct EventHead<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub pubkey: Cow<'a, str>,
    pub created_at: u64,
    pub kind: u64,
    #[serde(borrow)]
    pub content: &'a RawValue,
}

impl<'a> RelayMessage<'a> {
    /// Parses a message; `None` if it is not one.
    pub fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl<'a> EventHead<'a> {
    /// Parses an event's head; `None` if it has none.
    pub fn parse(event: &'a RawValue) -> Option<Self> {
        serde_json::from_str(event.get()).ok()
    }
}

/// A string that is borrowed if it has no escapes (`Cow`'s own `Deserialize` always copies).
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for RelayMessage<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MessageVisitor;

        impl<'de> Visitor<'de> for MessageVisitor {
            type Value = RelayMessage<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a relay message")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let name = text(&mut seq)?;
                let frame = match name.as_ref() {
                    "EVENT" => RelayMessage::Event {
                        subscription: text(&mut seq)?,
                        event: seq.next_element()?.ok_or_else(|| de::Error::custom("no event"))?,
                    },
                    "OK" => RelayMessage::Ok {
                        event_id: text(&mut seq)?,
                        accepted: seq.next_element()?.ok_or_else(|| de::Error::custom("neither yes nor no"))?,
                        text: last_text(&mut seq)?,
                    },
                    "EOSE" => RelayMessage::EndOfStored { subscription: text(&mut seq)? },
                    "CLOSED" => RelayMessage::Closed { subscription: text(&mut seq)?, text: last_text(&mut seq)? },
                    "NOTICE" => RelayMessage::Notice { text: last_text(&mut seq)? },
                    "AUTH" => RelayMessage::Auth { challenge: text(&mut seq)? },
                    _ => RelayMessage::Other,
                };
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(frame)
            }
        }

        deserializer.deserialize_seq(MessageVisitor)
    }
}

fn text<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Cow<'de, str>, A::Error> {
    seq.next_element::<Text<'de>>()?.map(|text| text.0).ok_or_else(|| de::Error::custom("too short"))
}

/// The text at the end, which some relays omit.
fn last_text<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Cow<'de, str>, A::Error> {
    Ok(seq.next_element::<Option<Text<'de>>>()?.flatten().map_or(Cow::Borrowed(""), |text| text.0))
}

/// The meaning of the machine-readable prefix of an `OK` or `CLOSED` text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `duplicate:`
    Duplicate,
    /// `rate-limited:`
    RateLimited,
    /// `auth-required:`
    AuthRequired,
    /// `restricted:` or `blocked:`: access is denied.
    NotForUs,
    /// Any other prefix, or none.
    Other,
}

impl Prefix {
    /// The prefix of this text.
    pub fn of(text: &str) -> Self {
        match text.split_once(':').map(|(prefix, _)| prefix) {
            Some("duplicate") => Self::Duplicate,
            Some("rate-limited") => Self::RateLimited,
            Some("auth-required") => Self::AuthRequired,
            Some("restricted" | "blocked") => Self::NotForUs,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_kind_of_message() {
        use RelayMessage as M;
        type Meaning = fn(RelayMessage<'_>) -> bool;
        let meanings: [(&str, Meaning); 9] = [
            (
                r#"["EVENT","s",{"id":"x"}]"#,
                |m| matches!(m, M::Event { subscription: id, event } if id == "s" && event.get() == r#"{"id":"x"}"#),
            ),
            (
                r#" [ "OK" , "ab" , false , "no \"x\"" ] "#,
                |m| matches!(m, M::Ok { accepted: false, text, .. } if text == "no \"x\""),
            ),
            (r#"["OK","ab",true]"#, |m| matches!(m, M::Ok { accepted: true, text, .. } if text.is_empty())),
            (r#"["EOSE","s"]"#, |m| matches!(m, M::EndOfStored { subscription } if subscription == "s")),
            (r#"["\u0045OSE","s",1,2,[]]"#, |m| matches!(m, M::EndOfStored { .. })),
            (r#"["CLOSED","s"]"#, |m| matches!(m, M::Closed { text, .. } if text.is_empty())),
            (r#"["NOTICE","hello"]"#, |m| matches!(m, M::Notice { text } if text == "hello")),
            (r#"["AUTH","c"]"#, |m| matches!(m, M::Auth { challenge } if challenge == "c")),
            (r#"["COUNT","s",{"count":1}]"#, |m| matches!(m, M::Other)),
        ];
        for (text, means) in meanings {
            assert!(RelayMessage::parse(text).is_some_and(means), "{text}");
        }
    }

    #[test]
    fn invalid_messages_are_refused() {
        let deep = format!("[\"EVENT\",\"s\",{}1{}]", "[".repeat(5000), "]".repeat(5000));
        for text in ["", "{}", "[]", "null", "1", "[1]", "[null]", "\"EVENT\"", "hello", r#"["EVENT"]"#, r#"["AUTH"]"#]
        {
            assert!(RelayMessage::parse(text).is_none(), "{text}");
        }
        for inner in [r#""EVENT","s""#, r#""EVENT",1,{}"#, r#""OK","a""#, r#""OK","a","true""#, r#""AUTH",{}"#] {
            assert!(RelayMessage::parse(&format!("[{inner}]")).is_none(), "{inner}");
        }
        assert!(RelayMessage::parse(r#"["EOSE","s"] x"#).is_none() && RelayMessage::parse(r#"["EOSE","s""#).is_none());
        // Deep nesting does not overflow the stack, and is not accepted as an event.
        if let Some(RelayMessage::Event { event, .. }) = RelayMessage::parse(&deep) {
            assert!(EventHead::parse(event).is_none());
        }
    }

    #[test]
    fn message_prefixes_are_classified() {
        assert_eq!(Prefix::of("rate-limited: slow down"), Prefix::RateLimited);
        assert_eq!(Prefix::of("auth-required: who are you?"), Prefix::AuthRequired);
        assert_eq!(Prefix::of("restricted:"), Prefix::NotForUs);
        assert_eq!(Prefix::of("blocked: go away"), Prefix::NotForUs);
        assert_eq!(Prefix::of("duplicate: again"), Prefix::Duplicate);
        assert_eq!(Prefix::of("error: rate-limited: no"), Prefix::Other);
        assert_eq!(Prefix::of(""), Prefix::Other);
    }
}
