use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest JSON text, in bytes: that of a NIP-44 v2 payload without the extended length prefix.
pub const MAX_JSON_BYTES: usize = 65_535;

/// Why a text is not a message. Names the place but never the value, because a wrong value may still be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No message of this kind comes from that side.
    #[error("no message of kind {0} comes from this side")]
    UnknownKind(u16),
    /// The text is longer than [`MAX_JSON_BYTES`].
    #[error("the message is longer than {MAX_JSON_BYTES} bytes")]
    TooLong,
    /// The text is not JSON, or not of the kind's shape, or a value is out of bounds.
    #[error("the message is malformed (line {line}, column {column})")]
    Malformed {
        /// Line, from 1; 0 when unknown.
        line: usize,
        /// Column, from 1; 0 when unknown.
        column: usize,
    },
    /// A subkey proof (kind 30000) whose event has no `e` tag.
    #[error("the subkey proof does not say which event it is about")]
    MissingReference,
}

/// Reads a JSON object. No depth overflows the stack: serde_json reads 128 levels, and skips without recursion.
pub(super) fn object<T: DeserializeOwned>(json: &str) -> Result<T, ParseError> {
    if json.len() > MAX_JSON_BYTES {
        return Err(ParseError::TooLong);
    }
    // Derived structs are read from arrays, too; the protocol knows objects alone.
    if !json.trim_start().starts_with('{') {
        return Err(ParseError::Malformed { line: 1, column: 1 });
    }
    serde_json::from_str(json).map_err(|e| ParseError::Malformed { line: e.line(), column: e.column() })
}

/// Writes a message. Serialising cannot fail; an empty text would not get past [`seal`](crate::envelope::seal).
pub(super) fn json<T: Serialize>(message: &T) -> String {
    serde_json::to_string(message).unwrap_or_default()
}
