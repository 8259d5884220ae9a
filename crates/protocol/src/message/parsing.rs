use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest JSON text, in bytes: the plaintext limit of NIP-44 v2 without the extended length prefix.
pub const MAX_JSON_BYTES: usize = 65_535;

/// Why a text is not a message. Contains the position but not the value, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// This side sends no message of this kind.
    #[error("no message of kind {0} comes from this side")]
    UnknownKind(u16),
    /// The text is longer than [`MAX_JSON_BYTES`].
    #[error("the message is longer than {MAX_JSON_BYTES} bytes")]
    TooLong,
    /// Not JSON, another shape than the kind's, or a value out of bounds.
    #[error("the message is malformed (line {line}, column {column})")]
    Malformed {
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// Column, from 1; 0 if unknown.
        column: usize,
    },
    /// A subkey proof (kind 30000) whose event has no `e` tag.
    #[error("the subkey proof does not say which event it is about")]
    MissingReference,
}

/// Parses a JSON object. Nesting cannot overflow the stack: serde_json parses 128 levels, and skips without recursion.
pub(super) fn object<T: DeserializeOwned>(json: &str) -> Result<T, ParseError> {
    if json.len() > MAX_JSON_BYTES {
        return Err(ParseError::TooLong);
    }
    // serde also reads structs from arrays; the protocol uses only objects.
    if !json.trim_start().starts_with('{') {
        return Err(ParseError::Malformed { line: 1, column: 1 });
    }
    serde_json::from_str(json).map_err(|e| ParseError::Malformed { line: e.line(), column: e.column() })
}

/// Writes a message. Serialising cannot fail; [`seal`](crate::envelope::seal) refuses an empty text.
pub(super) fn json<T: Serialize>(message: &T) -> String {
    serde_json::to_string(message).unwrap_or_default()
}
