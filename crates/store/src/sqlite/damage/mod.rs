//! A check of every row: which ones cannot be read, hold impossible values, or are missing.
//!
//! Missing rows are found by what refers to them: an operation knows how many events its stream has, events count from 0,
//! and each event belongs to an operation. A job of the ticket wallet is known by the proofs that it claims or has reserved.

mod checks;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use usher_engine::StreamId;
use usher_engine::ports::{CheckedRows, DamagedRow, RowPosition, Table};

use self::checks::CHECKS;
use super::failure::{During as _, SqliteFailure};

const DURING: &str = "look for damaged rows";

/// Longest name that is shown as it is: that of a counter contains its mint's address.
const LONGEST_NAME: usize = 200;

/// How the rows of a table are read and checked.
struct Check {
    table: Table,
    /// The columns that `read` wants, and after them the key: one column, or two of which the second is an integer.
    columns: &'static str,
    /// The text between `SELECT` and `WHERE`.
    from: &'static str,
    key: Key,
    /// Fails when the row itself is damaged; otherwise returns other rows that are.
    read: fn(&Row<'_>) -> Result<Vec<DamagedRow>, SqliteFailure>,
}

/// The primary key of a table.
enum Key {
    /// A column of bytes.
    Bytes(&'static str),
    /// A column of text, or an expression that makes one text of several.
    Text(&'static str),
    /// A column of bytes and one of integers.
    Pair(&'static str, &'static str),
}

impl Key {
    /// How many columns it has.
    const fn columns(&self) -> usize {
        match self {
            Self::Bytes(_) | Self::Text(_) => 1,
            Self::Pair(..) => 2,
        }
    }

    fn names(&self) -> String {
        match self {
            Self::Bytes(name) | Self::Text(name) => (*name).to_owned(),
            Self::Pair(first, second) => format!("{first}, {second}"),
        }
    }

    /// The condition that selects the keys from `(?1, ?2)` on; both parameters are always used.
    fn condition(&self, operator: &str) -> String {
        match self {
            Self::Bytes(name) => format!("{name} {operator} ?1 AND ?2 IS NOT NULL"),
            Self::Text(name) => format!("{name} {operator} CAST(?1 AS TEXT) AND ?2 IS NOT NULL"),
            Self::Pair(first, second) => format!("({first}, {second}) {operator} (?1, ?2)"),
        }
    }
}

impl Check {
    fn sql(&self, operator: &str) -> String {
        let (columns, from, key) = (self.columns, self.from, self.key.names());
        let condition = self.key.condition(operator);
        format!("SELECT {columns}, {key} FROM {from} WHERE {condition} ORDER BY {key} LIMIT ?3")
    }
}

/// See [`Store::check_rows`](usher_engine::ports::Store::check_rows).
pub(crate) fn check_rows(
    connection: &Connection,
    from: &RowPosition,
    rows: usize,
) -> Result<CheckedRows, SqliteFailure> {
    let mut checked = CheckedRows { damaged: Vec::new(), next: None };
    if *from == RowPosition::default() {
        checked.damaged.extend(checks::reserved_stream(connection)?);
    }
    let mut left = rows.max(1);
    let mut after = from.after.clone();
    for (table, check) in CHECKS.iter().enumerate().skip(from.table) {
        let read = check_table(connection, check, after.as_ref(), left, &mut checked.damaged)?;
        if read.count == left {
            checked.next = Some(RowPosition { table, after: read.last });
            return Ok(checked);
        }
        left -= read.count;
        after = None;
    }
    Ok(checked)
}

/// Every damaged row, at most `limit`.
pub(crate) fn damaged_rows(connection: &Connection, limit: usize) -> Result<Vec<DamagedRow>, SqliteFailure> {
    const PAGE: usize = 1_000;
    let mut damaged = Vec::new();
    let mut from = Some(RowPosition::default());
    while damaged.len() < limit
        && let Some(position) = from
    {
        let checked = check_rows(connection, &position, PAGE)?;
        for row in checked.damaged {
            if !damaged.contains(&row) {
                damaged.push(row);
            }
        }
        from = checked.next;
    }
    damaged.truncate(limit);
    Ok(damaged)
}

/// How far a check has come in a table.
struct Progress {
    count: usize,
    /// The key of the last row.
    last: Option<(Vec<u8>, i64)>,
}

fn check_table(
    connection: &Connection,
    check: &Check,
    after: Option<&(Vec<u8>, i64)>,
    limit: usize,
    damaged: &mut Vec<DamagedRow>,
) -> Result<Progress, SqliteFailure> {
    // Not cached: each runs rarely, and would take the place of a statement that runs often.
    let mut statement = connection.prepare(&check.sql(if after.is_some() { ">" } else { ">=" })).during(DURING)?;
    let key = statement.column_count().saturating_sub(check.key.columns());
    let beginning = (Vec::new(), i64::MIN);
    let (bytes, index) = after.unwrap_or(&beginning);
    let mut rows = statement.query(params![bytes, index, super::codec::limit(limit)]).during(DURING)?;
    let mut progress = Progress { count: 0, last: None };
    while let Some(row) = rows.next().during(DURING)? {
        progress.count += 1;
        match (check.read)(row) {
            Ok(others) => damaged.extend(others),
            Err(SqliteFailure::Unreadable(_)) => {
                damaged.push(DamagedRow { table: check.table, id: id_of(row, key, check.table)? });
            }
            Err(failure) => return Err(failure),
        }
        let bytes = match row.get_ref(key).during(DURING)? {
            ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
        };
        let index = if check.key.columns() == 2 { row.get(key + 1).unwrap_or(i64::MAX) } else { 0 };
        progress.last = Some((bytes, index));
    }
    Ok(progress)
}

/// The key of a row for people: the id of a stream, a key in hex or a name; with the index after a colon.
fn id_of(row: &Row<'_>, first: usize, table: Table) -> Result<String, SqliteFailure> {
    let mut parts = Vec::new();
    for column in first..row.as_ref().column_count() {
        parts.push(match row.get_ref(column).during(DURING)? {
            ValueRef::Blob([]) => "(empty)".to_owned(),
            ValueRef::Blob(bytes) => match bytes.try_into() {
                Ok(id) if table != Table::Correlations => StreamId::from_bytes(id).to_string(),
                _ => hex(bytes),
            },
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(name) if name.len() <= LONGEST_NAME && name.iter().all(u8::is_ascii_graphic) => {
                String::from_utf8_lossy(name).into_owned()
            }
            ValueRef::Text(name) => hex(name.get(..LONGEST_NAME).unwrap_or(name)),
            ValueRef::Null | ValueRef::Real(_) => "?".to_owned(),
        });
    }
    Ok(parts.join(":"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
