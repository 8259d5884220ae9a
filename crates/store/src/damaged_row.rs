//! Rows that cannot be read, and how they are named.

use usher_engine::StreamId;
use usher_engine::ports::State;

/// Longest name that is shown as it is: that of a counter contains its mint's address.
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

/// Whether an operation's state is one.
pub type StateCheck = fn(&State) -> bool;

/// A column of a row's key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyPart<'a> {
    Bytes(&'a [u8]),
    Number(i64),
    Text(&'a [u8]),
    Other,
}

impl DamagedRow {
    /// The row with this key.
    pub(crate) fn new<'a>(table: &'static str, key: impl IntoIterator<Item = KeyPart<'a>>) -> Self {
        let parts: Vec<_> = key.into_iter().map(|part| shown(table, part)).collect();
        Self { table, id: parts.join(":") }
    }

    /// The operation of this stream.
    pub(crate) fn operation(id: StreamId) -> Self {
        Self { table: "operations", id: id.to_string() }
    }
}

/// For people: the id of a stream, a key in hex or a name.
fn shown(table: &str, part: KeyPart<'_>) -> String {
    match part {
        KeyPart::Bytes([]) => "(empty)".to_owned(),
        KeyPart::Bytes(bytes) => match bytes.try_into() {
            Ok(id) if table != "correlations" => StreamId::from_bytes(id).to_string(),
            _ => hex(bytes),
        },
        KeyPart::Number(number) => number.to_string(),
        KeyPart::Text(name) if name.len() <= MAX_NAME && name.iter().all(u8::is_ascii_graphic) => {
            String::from_utf8_lossy(name).into_owned()
        }
        KeyPart::Text(name) => hex(name.get(..MAX_NAME).unwrap_or(name)),
        KeyPart::Other => "?".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
