//! The marks of `usher store copy` in both databases, so that never both can be used.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::codec::Unreadable;

/// The mark of a database that was moved, or is an unfinished copy. Services refuse both.
///
/// The copy is committed as unfinished; then the source is marked as moved; then the mark is removed from the copy. So
/// at any time at least one of them is marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyMark {
    /// The kind of mark.
    pub state: CopyState,
    /// The id of the copy, the same in both databases.
    pub copy: String,
    /// The location of the other database, for messages and without a password.
    pub other: String,
    /// When the copy was begun.
    pub at: String,
}

/// The kinds of [`CopyMark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyState {
    /// The database is an unfinished copy.
    Unfinished,
    /// Everything was moved to the other database.
    Moved,
}

impl CopyMark {
    /// The setting of the mark. It is not copied.
    pub(crate) const SETTING: &str = "store.copy";

    /// The part of a query after the table's name that excludes the mark.
    pub(crate) fn without(table: &str) -> String {
        if table == "settings" { format!(" WHERE name <> '{}'", Self::SETTING) } else { String::new() }
    }

    /// Parses a setting.
    ///
    /// # Errors
    /// [`Unreadable`]: damaged, or of a newer version.
    pub(crate) fn read(stored: &str) -> Result<Self, Unreadable> {
        serde_json::from_str(stored).map_err(|_| Unreadable("whether the database was moved"))
    }

    /// The value of the setting.
    pub(crate) fn stored(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

impl fmt::Display for CopyMark {
    /// Completes a sentence that begins with "the database".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { other, at, .. } = self;
        match self.state {
            CopyState::Unfinished => {
                write!(f, "is an unfinished copy of {other}, begun at {at}; run `usher store copy` again to finish it")
            }
            CopyState::Moved => write!(
                f,
                "was moved to {other} at {at} and must not be used again, or payments and tickets are made twice; configure \
                 that database, or see docs/instances.md (Move between SQLite and PostgreSQL)"
            ),
        }
    }
}
