//! What a database must do to be copied, or to be the copy.

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::error::CopyError;
use super::table::{FoundTable, Table};
use super::value::Rows;
use crate::copy_mark::CopyMark;
use crate::damaged_row::StateCheck;

/// Either of the two databases. Nobody else has it.
#[async_trait]
pub(crate) trait Side: Send + Sync {
    /// Where it is, in words, without a password.
    fn place(&self) -> String;

    /// The note that an earlier copy has left.
    async fn mark(&self) -> Result<Option<CopyMark>, CopyError>;

    /// Stores the note, or removes it; it is on disk when this returns.
    async fn set_mark(&mut self, mark: Option<&CopyMark>) -> Result<(), CopyError>;

    /// Its tables, but those that only one engine has: of migrations and of the lease.
    async fn tables(&self) -> Result<Vec<FoundTable>, CopyError>;

    /// Sends every row of a table, but not the note. Ends early when nobody receives them.
    async fn read(&self, table: &Table, rows: mpsc::Sender<Rows>) -> Result<(), CopyError>;
}

/// The database that is copied.
#[async_trait]
pub(crate) trait Source: Side {
    /// Refuses a damaged one.
    async fn check(&self, readable: StateCheck) -> Result<(), CopyError>;
}

/// The database that becomes the copy.
#[async_trait]
pub(crate) trait Target: Side {
    /// Begins, with empty tables, what [`commit`](Self::commit) makes durable. `replaces` says that it holds an unfinished copy,
    /// which may be removed; otherwise it must be empty.
    async fn begin(&mut self, mark: &CopyMark, replaces: bool) -> Result<(), CopyError>;

    /// Stores rows.
    async fn write(&mut self, table: &Table, rows: mpsc::Receiver<Rows>) -> Result<(), CopyError>;

    /// All rows are there, and can be read again.
    async fn written(&mut self, tables: &[Table]) -> Result<(), CopyError>;

    /// Everything is on disk when this returns, with the note.
    async fn commit(&mut self) -> Result<(), CopyError>;
}
