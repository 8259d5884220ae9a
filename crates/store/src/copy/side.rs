//! The operations of a database that is the source or target of a copy.

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::error::CopyError;
use super::table::{FoundTable, Table};
use super::value::Rows;
use crate::copy_mark::CopyMark;
use crate::damaged_row::StateCheck;

/// One of the two databases, under exclusive use.
#[async_trait]
pub(crate) trait Side: Send + Sync {
    /// The location for messages, without a password.
    fn place(&self) -> String;

    /// The mark left by an earlier copy.
    async fn mark(&self) -> Result<Option<CopyMark>, CopyError>;

    /// Stores or removes the mark durably.
    async fn set_mark(&mut self, mark: Option<&CopyMark>) -> Result<(), CopyError>;

    /// Its tables, except those of only one engine (migrations, lease).
    async fn tables(&self) -> Result<Vec<FoundTable>, CopyError>;

    /// Sends every row of a table except the mark. Ends early if the receiver is gone.
    async fn read(&self, table: &Table, rows: mpsc::Sender<Rows>) -> Result<(), CopyError>;
}

#[async_trait]
pub(crate) trait Source: Side {
    /// Refuses a damaged database.
    async fn check(&self, readable: StateCheck) -> Result<(), CopyError>;
}

#[async_trait]
pub(crate) trait Target: Side {
    /// Begins with empty tables; [`commit`](Self::commit) makes the changes durable. With `replaces`, the existing
    /// unfinished copy is removed; otherwise the database must be empty.
    async fn begin(&mut self, mark: &CopyMark, replaces: bool) -> Result<(), CopyError>;

    async fn write(&mut self, table: &Table, rows: mpsc::Receiver<Rows>) -> Result<(), CopyError>;

    /// Called after the last row; the rows can then be read back.
    async fn written(&mut self, tables: &[Table]) -> Result<(), CopyError>;

    /// Makes everything durable, including the mark.
    async fn commit(&mut self) -> Result<(), CopyError>;
}
