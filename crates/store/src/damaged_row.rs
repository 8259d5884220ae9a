//! Damaged rows and their identifiers.

use usher_engine::StreamId;
use usher_engine::ports::State;

use crate::row::Value;

/// Longest name shown in full: that of a counter contains its mint's address.
const MAX_NAME: usize = 200;

/// A row that cannot be read, or holds impossible values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRow {
    /// The table.
    pub table: &'static str,
    /// Its key: a stream, an event as `<stream>:<index>`, a public key or another key in hex, a setting's name, or a
    /// counter as `<mint>#<keyset>`. Never the row's content.
    pub id: String,
}

/// Whether an operation's state is valid.
pub type StateCheck = fn(&State) -> bool;

impl DamagedRow {
    pub(crate) fn new(table: &'static str, key: &[Value]) -> Self {
        let parts: Vec<_> = key.iter().map(|part| shown(table, part)).collect();
        Self { table, id: parts.join(":") }
    }

    pub(crate) fn operation(id: StreamId) -> Self {
        Self { table: "operations", id: id.to_string() }
    }
}

/// The printable form: a stream id, a key in hex or a name.
fn shown(table: &str, part: &Value) -> String {
    match part {
        Value::Blob(bytes) if bytes.is_empty() => "(empty)".to_owned(),
        Value::Blob(bytes) => match bytes.as_slice().try_into() {
            Ok(id) if table != "correlations" => StreamId::from_bytes(id).to_string(),
            _ => hex(bytes),
        },
        Value::Integer(number) => number.to_string(),
        Value::Text(name) if name.len() <= MAX_NAME && name.bytes().all(|byte| byte.is_ascii_graphic()) => name.clone(),
        Value::Text(name) => hex(name.as_bytes().get(..MAX_NAME).unwrap_or(name.as_bytes())),
        Value::Damaged(bytes) if !bytes.is_empty() => hex(bytes.get(..MAX_NAME).unwrap_or(bytes)),
        Value::Null | Value::Damaged(_) => "?".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
