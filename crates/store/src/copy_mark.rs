//! What `usher store copy` notes in the two databases, so that never both of them can be used.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::codec::Unreadable;

/// The note in a database that was moved away, or that is an unfinished copy. A service refuses both.
///
/// The copy is stored as unfinished; then the database that it was made of is marked as moved; then the note is removed from the
/// copy. So there is no instant in which neither has a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyMark {
    /// Which of the two it is.
    pub state: CopyState,
    /// The same in both databases.
    pub copy: String,
    /// Where the other database is, in words, without a password.
    pub other: String,
    /// When the copy was begun.
    pub at: String,
}

/// What a [`CopyMark`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyState {
    /// The database is a copy that may not be used yet.
    Unfinished,
    /// Everything was moved to the other database.
    Moved,
}

impl CopyMark {
    /// The name of the setting that holds it. It is not copied.
    pub(crate) const SETTING: &str = "store.copy";

    /// What follows the name of a table in a query for what is copied of it.
    pub(crate) fn without(table: &str) -> String {
        if table == "settings" { format!(" WHERE name <> '{}'", Self::SETTING) } else { String::new() }
    }

    /// The note in a setting.
    ///
    /// # Errors
    /// [`Unreadable`]: damaged, or of a newer version.
    pub(crate) fn read(stored: &str) -> Result<Self, Unreadable> {
        serde_json::from_str(stored).map_err(|_| Unreadable("whether the database was moved"))
    }

    /// For the setting.
    pub(crate) fn stored(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

impl fmt::Display for CopyMark {
    /// Follows "the database".
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
