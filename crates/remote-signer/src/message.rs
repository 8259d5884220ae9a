//! The messages of NIP-46: JSON, sealed with NIP-44 into events of kind 24133.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use url::{Host, Url};
use usher_nostr_connection::printable;

/// The kind of requests and replies.
pub(crate) const KIND: u16 = 24_133;

/// Longest reply accepted, in bytes: a signed event of a few hundred, with room for verbose signers.
const MAX_REPLY_BYTES: usize = 16 * 1024;

/// Longest address of a signer's page, in bytes.
const MAX_PAGE_BYTES: usize = 2_048;

/// The JSON text of a request.
pub(crate) fn request(id: &str, method: &str, params: &[String]) -> String {
    json!({ "id": id, "method": method, "params": params }).to_string()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) content: ReplyContent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplyContent {
    Result(String),
    /// A refusal; the text may be shown.
    Error(String),
    /// The user must open this page first. The same request then gets another reply.
    Confirm(String),
}

/// The wire form of a reply. Signers send `null` for absent values, or omit them.
#[derive(Deserialize)]
struct WireReply {
    id: String,
    #[serde(default)]
    result: Option<serde_json::Value>,
    #[serde(default)]
    error: Option<String>,
    /// Present only in requests.
    #[serde(default)]
    method: Option<IgnoredAny>,
}

impl Reply {
    /// Parses a reply; `None` for other messages, such as requests.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_REPLY_BYTES {
            return None;
        }
        let WireReply { id, result, error, method } = serde_json::from_str(text).ok()?;
        if method.is_some() {
            return None;
        }
        let result = match result {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::String(text)) => Some(text),
            // Some signers send an event or a list without encoding it as a string.
            Some(other) => Some(other.to_string()),
        };
        // The error comes first: some signers send the result `error` beside it.
        let content = match (error.filter(|error| !error.is_empty()), result) {
            (Some(page), Some(result)) if result == "auth_url" => ReplyContent::Confirm(page_of_signer(&page)?),
            (Some(error), _) => ReplyContent::Error(printable(&error)),
            (None, Some(result)) => ReplyContent::Result(result),
            // The reply to `switch_relays` of a signer that keeps its relays.
            (None, None) => ReplyContent::Result("null".to_owned()),
        };
        Some(Self { id, content })
    }
}

/// The address of a signer's page, if a browser may be redirected there.
fn page_of_signer(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_PAGE_BYTES)?;
    let is_loopback = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    let allowed = url.scheme() == "https" || (url.scheme() == "http" && is_loopback);
    (allowed && !has_credentials).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Option<ReplyContent> {
        Reply::parse(text).map(|reply| reply.content)
    }

    #[test]
    fn replies_of_different_signers_are_read() {
        let result = |text: &str| Some(ReplyContent::Result(text.to_owned()));
        let error = |text: &str| Some(ReplyContent::Error(text.to_owned()));
        assert_eq!(content(r#"{"id":"1","result":"ack"}"#), result("ack"));
        assert_eq!(content(r#"{"id":"1","result":"ack","error":null}"#), result("ack"));
        assert_eq!(content(r#"{"id":"1","result":"ack","error":""}"#), result("ack"));
        assert_eq!(content(r#"{"id":"1","result":["wss://x"]}"#), result(r#"["wss://x"]"#));
        assert_eq!(content(r#"{"id":"1","result":null}"#), result("null"));
        assert_eq!(content(r#"{"id":"1","result":"error","error":"Not authorized"}"#), error("Not authorized"));
        assert_eq!(content(r#"{"id":"1","error":"no\nway"}"#), error("no way"));
    }

    #[test]
    fn only_safe_pages_are_shown() {
        for refused in
            ["javascript:alert(1)", "http://signer.example", "data:text/html,x", "https://a:b@c.d", "x", "//x.y"]
        {
            let reply = json!({ "id": "1", "result": "auth_url", "error": refused }).to_string();
            assert_eq!(content(&reply), None, "{refused}");
        }
        for shown in ["https://signer.example/", "http://127.0.0.1:8080/a", "http://localhost/", "http://[::1]:1/"] {
            let reply = json!({ "id": "1", "result": "auth_url", "error": shown }).to_string();
            assert_eq!(content(&reply), Some(ReplyContent::Confirm(shown.to_owned())));
        }
    }

    #[test]
    fn other_texts_are_no_replies() {
        let long = json!({ "id": "1", "result": "x".repeat(20_000) }).to_string();
        for text in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"result":"ack"}"#,
            r#"{"id":1,"result":"ack"}"#,
            r#"{"id":"1","method":"ping"}"#,
            &long,
        ] {
            assert_eq!(Reply::parse(text), None, "{text}");
        }
    }
}
