//! Errors of requests to a mint.

use serde::Deserialize;
use usher_engine::ports::MintAuthToken;

/// Longest text of a mint in errors, in characters.
const MAX_CHARS: usize = 160;

/// Longest run of characters of secrets, keys or tokens. Longer runs are removed: some mints echo secrets.
const MAX_RUN: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MintError {
    /// The address is in a network that is not allowed. Nothing was sent.
    #[error("{0}")]
    AddressNotAllowed(String),
    /// The connection failed or was closed.
    #[error("{reason}")]
    Unreachable {
        reason: String,
        /// Whether the request may have been sent.
        sent: bool,
    },
    #[error("no response in time")]
    TimedOut,
    /// The mint failed, or refused temporarily.
    #[error("status {0}")]
    Failed(u16),
    #[error("{}", .0.text)]
    Refused(Refusal),
    /// The response violates the protocol.
    #[error("{0}")]
    Invalid(String),
}

/// A refusal with the mint's text, cleaned and truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Option<i64>,
    pub(crate) text: String,
}

/// Keyset unknown, inactive or expired (NUT error codes).
const KEYSET_CODES: [i64; 3] = [12001, 12002, 12003];

impl MintError {
    pub(crate) fn from_status(status: u16, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            detail: serde_json::Value,
            #[serde(default)]
            error: serde_json::Value,
            #[serde(default)]
            code: serde_json::Value,
        }
        // Not about the request itself: time-out, too early, too many requests.
        if !(400..500).contains(&status) || matches!(status, 408 | 425 | 429) {
            return Self::Failed(status);
        }
        let body = serde_json::from_slice::<Body>(body).ok();
        let code = body.as_ref().and_then(|body| body.code.as_i64());
        let text = body.as_ref().and_then(|body| body.detail.as_str().or(body.error.as_str())).map(clean);
        let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("status {status}"));
        Self::Refused(Refusal { code, text })
    }

    /// Removes the auth token from the text: some mints echo it.
    pub(crate) fn without(self, auth: Option<&MintAuthToken>) -> Self {
        match (self, auth) {
            (Self::Refused(Refusal { code, text }), Some(MintAuthToken(token))) if !token.is_empty() => {
                Self::Refused(Refusal { code, text: text.replace(token.as_str(), "…") })
            }
            (error, _) => error,
        }
    }

    /// Whether the mint has certainly not executed the request.
    pub(crate) fn is_definite(&self) -> bool {
        match self {
            Self::AddressNotAllowed(_) | Self::Refused(_) => true,
            Self::Unreachable { sent, .. } => !sent,
            Self::TimedOut | Self::Failed(_) | Self::Invalid(_) => false,
        }
    }

    /// Whether the mint no longer signs with the keyset of the outputs.
    pub(crate) fn concerns_keyset(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code.is_some_and(|code| KEYSET_CODES.contains(&code))
            || refusal.text.to_ascii_lowercase().contains("keyset"))
    }

    /// Whether the mint reports that it has signed the outputs before.
    pub(crate) fn concerns_outputs(&self) -> bool {
        matches!(self, Self::Refused(Refusal { code: Some(10002 | 11003), .. }))
    }

    /// Whether the auth token is missing or refused: the mint has not looked at the request itself (NUT-21, NUT-22).
    pub(crate) fn concerns_auth(&self) -> bool {
        matches!(self, Self::Refused(Refusal { code: Some(30001 | 30002 | 31001 | 31002), .. }))
    }

    pub(crate) fn concerns_proof(&self) -> bool {
        matches!(self, Self::Refused(Refusal { code: Some(10001 | 10003), .. }))
    }
}

/// A mint's text on one line, truncated, without possible secrets.
fn clean(text: &str) -> String {
    let mut cleaned = String::new();
    let mut run = String::new();
    let flush = |run: &mut String, cleaned: &mut String| {
        cleaned.push_str(if run.len() > MAX_RUN { "…" } else { run });
        run.clear();
    };
    for c in text.chars().take(16 * MAX_CHARS) {
        if c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-' | '=') {
            run.push(c);
        } else {
            flush(&mut run, &mut cleaned);
            cleaned.push(if c.is_control() { ' ' } else { c });
        }
    }
    flush(&mut run, &mut cleaned);
    usher_protocol::text::clean(&cleaned, MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mints_words_are_cleaned_and_cut() {
        assert_eq!(clean("Keyset\nis inactive."), "Keyset is inactive.");
        let secret = "9a6d".repeat(16);
        assert_eq!(
            clean(&format!("inputs: [{{'secret': '{secret}', 'C': '02{secret}'}}]")),
            "inputs: [{'secret': '…', 'C': '…'}]"
        );
        assert!(clean(&"a b ".repeat(10_000)).chars().count() <= MAX_CHARS);
        assert_eq!(clean(&"x".repeat(100_000)), "…");
        assert_eq!(clean("no\u{202e}pe\u{1b}[31m"), "nope [31m", "nothing that makes a terminal show something else");
    }

    #[test]
    fn an_auth_token_that_a_mint_repeats_is_left_out() {
        let error = MintError::from_status(401, br#"{"detail": "Clear auth failed for tok-1", "code": 30002}"#);
        let text = "Clear auth failed for \u{2026}".to_owned();
        let token = MintAuthToken("tok-1".to_owned());
        assert_eq!(error.without(Some(&token)), MintError::Refused(Refusal { code: Some(30002), text }));
    }

    #[test]
    fn only_a_refusal_is_definite() {
        let refused = MintError::from_status(400, br#"{"detail": "Token already spent.", "code": 11001}"#);
        assert_eq!(refused, MintError::Refused(Refusal { code: Some(11001), text: "Token already spent.".into() }));
        assert!(refused.is_definite());
        for status in [500, 502, 503, 504, 429, 408, 302] {
            assert!(!MintError::from_status(status, b"{}").is_definite(), "{status}");
        }
        assert!(MintError::from_status(404, b"<html>").is_definite());
        assert!(MintError::from_status(400, br#"{"detail": "Keyset is inactive", "code": 12002}"#).concerns_keyset());
        assert!(!refused.concerns_keyset());
    }
}
