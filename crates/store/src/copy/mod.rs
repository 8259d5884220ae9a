//! Moves everything from a database to one of the other engine, while no service uses either.
//!
//! | crash | the source | the target | a later run |
//! | --- | --- | --- | --- |
//! | before the rows are committed | as it was | empty, or there is no file | copies |
//! | before the source is marked | as it was | an unfinished copy | copies again |
//! | before the copy's note is removed | moved | an unfinished copy | removes the note |
//! | later | moved | in use | is refused |
//!
//! Services refuse moved databases and unfinished copies, so at most one of the two can be used at any time.
//!
//! | file | is |
//! | --- | --- |
//! | `side` | the operations that each engine provides |
//! | `table` | tables and columns |
//! | `value` | rows in transit, and their digest |
//! | `error` | errors |

mod error;
mod side;
mod table;
mod value;

use std::path::Path;

use tokio::sync::mpsc;

pub use self::error::CopyError;
pub(crate) use self::side::{Side, Source, Target};
use self::table::matched;
pub(crate) use self::table::{FoundColumn, FoundTable, Kind, Table, quoted};
use self::value::RowsDigest;
pub(crate) use self::value::{Batch, Rows};
use crate::copy_mark::{CopyMark, CopyState};
use crate::damaged_row::StateCheck;
use crate::postgres::{PostgresDatabase, PostgresOptions};
use crate::sqlite::{SqliteSource, SqliteTarget};

/// Batches of rows buffered for the other database.
const BATCHES: usize = 2;

/// The source database, under exclusive use.
pub struct CopySource(Box<dyn Source>);

impl CopySource {
    /// A SQLite file.
    ///
    /// # Errors
    /// If it does not exist, another process uses it, or it cannot be opened.
    pub async fn sqlite(path: &Path) -> Result<Self, CopyError> {
        Ok(Self(Box::new(SqliteSource::open(path).await?)))
    }

    /// A PostgreSQL database whose lease is held under this epoch.
    ///
    /// # Errors
    /// If it cannot be used.
    pub async fn postgres(options: &PostgresOptions, epoch: u64) -> Result<Self, CopyError> {
        Ok(Self(Box::new(PostgresDatabase::source(options, epoch).await?)))
    }

    /// The mark left by an earlier copy.
    pub async fn mark(&self) -> Result<Option<CopyMark>, CopyError> {
        self.0.mark().await
    }

    /// Removes the mark, so that the database can be used again.
    pub async fn reopen(mut self) -> Result<(), CopyError> {
        self.0.set_mark(None).await
    }
}

/// The target database, under exclusive use.
pub struct CopyTarget(Box<dyn Target>);

impl CopyTarget {
    /// A SQLite file that does not exist yet.
    ///
    /// # Errors
    /// If another process uses it, or it cannot be created.
    pub async fn sqlite(path: &Path) -> Result<Self, CopyError> {
        Ok(Self(Box::new(SqliteTarget::open(path).await?)))
    }

    /// A PostgreSQL database whose lease is held under this epoch. It gets this program's schema.
    ///
    /// # Errors
    /// If it cannot be used.
    pub async fn postgres(options: &PostgresOptions, epoch: u64) -> Result<Self, CopyError> {
        Ok(Self(Box::new(PostgresDatabase::target(options, epoch).await?)))
    }
}

/// The current step for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPart {
    /// Its rows are copied.
    Copying,
    /// Both databases are read again.
    Comparing,
}

/// A copied table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The sum of the SHA-256 of its rows modulo 2^256, in hex: the same in both databases.
    pub digest: String,
}

/// The outcome of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// Everything was copied.
    Copied(Vec<CopiedTable>),
    /// An earlier run had copied everything; only the marks were missing.
    Finished,
}

/// Moves and verifies everything. `id` is a unique name of the copy, and `at` the time as text. `readable` returns
/// whether an operation's state is valid; `progress` receives the table and the number of its finished rows.
///
/// # Errors
/// [`CopyError`]; nothing was moved then.
pub async fn copy(
    CopySource(mut source): CopySource,
    CopyTarget(mut target): CopyTarget,
    id: &str,
    at: &str,
    readable: StateCheck,
    progress: &(dyn Fn(CopyPart, &str, u64) + Send + Sync),
) -> Result<CopyOutcome, CopyError> {
    let (of_source, of_target) = (source.mark().await?, target.mark().await?);
    let replaces = match (of_source, of_target) {
        (Some(moved), Some(unfinished)) if is_pair(&moved, &unfinished) => {
            target.set_mark(None).await?;
            return Ok(CopyOutcome::Finished);
        }
        (Some(mark), _) => return Err(CopyError::Marked { place: source.place(), mark }),
        (None, Some(mark)) if mark.state == CopyState::Moved => {
            return Err(CopyError::Marked { place: target.place(), mark });
        }
        (None, unfinished) => unfinished.is_some(),
    };
    source.check(readable).await?;
    let mark = CopyMark { state: CopyState::Unfinished, copy: id.to_owned(), other: source.place(), at: at.to_owned() };
    target.begin(&mark, replaces).await?;
    let tables = matched(source.tables().await?, target.tables().await?).map_err(CopyError::Schemas)?;
    for table in &tables {
        copy_table(&*source, &mut *target, table, progress).await?;
    }
    target.written(&tables).await?;
    let mut copied = Vec::new();
    for table in &tables {
        copied.push(compare_table(&*source, &*target, table, progress).await?);
    }
    fail::fail_point!("copy-compared", |_| -> Result<CopyOutcome, CopyError> { std::process::abort() });
    target.commit().await?;
    fail::fail_point!("copy-committed", |_| -> Result<CopyOutcome, CopyError> { std::process::abort() });
    let moved = CopyMark { state: CopyState::Moved, other: target.place(), ..mark };
    source.set_mark(Some(&moved)).await?;
    fail::fail_point!("copy-marked", |_| -> Result<CopyOutcome, CopyError> { std::process::abort() });
    target.set_mark(None).await?;
    Ok(CopyOutcome::Copied(copied))
}

fn is_pair(moved: &CopyMark, unfinished: &CopyMark) -> bool {
    moved.copy == unfinished.copy && (moved.state, unfinished.state) == (CopyState::Moved, CopyState::Unfinished)
}

async fn copy_table(
    source: &dyn Source,
    target: &mut dyn Target,
    table: &Table,
    progress: &(dyn Fn(CopyPart, &str, u64) + Send + Sync),
) -> Result<(), CopyError> {
    let (from_source, mut read) = mpsc::channel::<Rows>(BATCHES);
    let (to_target, written) = mpsc::channel(BATCHES);
    let forward = async move {
        let mut rows = 0;
        progress(CopyPart::Copying, &table.name, rows);
        while let Some(batch) = read.recv().await {
            rows += batch.len() as u64;
            if to_target.send(batch).await.is_err() {
                break;
            }
            progress(CopyPart::Copying, &table.name, rows);
        }
    };
    let (read, (), written) = tokio::join!(source.read(table, from_source), forward, target.write(table, written));
    read?;
    written
}

async fn compare_table(
    source: &dyn Source,
    target: &dyn Target,
    table: &Table,
    progress: &(dyn Fn(CopyPart, &str, u64) + Send + Sync),
) -> Result<CopiedTable, CopyError> {
    let digest = async |side: &dyn Side| {
        let (sender, mut read) = mpsc::channel::<Rows>(BATCHES);
        let sum = async move {
            let mut digest = RowsDigest::default();
            while let Some(rows) = read.recv().await {
                rows.iter().for_each(|row| digest.add(row));
                progress(CopyPart::Comparing, &table.name, digest.rows);
            }
            digest
        };
        let (read, digest) = tokio::join!(side.read(table, sender), sum);
        read.map(|()| digest)
    };
    let (of_source, of_target) = tokio::try_join!(digest(source), digest(target))?;
    if of_source != of_target {
        let (source_rows, target_rows) = (of_source.rows, of_target.rows);
        return Err(CopyError::Different { table: table.name.clone(), source_rows, target_rows });
    }
    Ok(CopiedTable { name: table.name.clone(), rows: of_source.rows, digest: of_source.hex() })
}
