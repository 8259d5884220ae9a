//! Statements on a connection.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql, params_from_iter};

use super::failure::{During as _, SqliteFailure};
use crate::copy_mark::CopyMark;
use crate::records::settings;
use crate::row::{Answer, Row, Value};
use crate::statement::{Param, Params, Query};

/// Runs these queries, one after the other.
///
/// # Errors
/// The error of the first failed one.
pub(super) fn run_all(connection: &Connection, queries: &[Query]) -> Result<Vec<Answer>, SqliteFailure> {
    queries.iter().map(|query| run(connection, query)).collect()
}

/// The same, without their answers.
pub(super) fn run_each(connection: &Connection, queries: &[Query]) -> Result<(), SqliteFailure> {
    queries.iter().try_for_each(|query| run(connection, query).map(drop))
}

pub(super) fn run(connection: &Connection, query: &Query) -> Result<Answer, SqliteFailure> {
    let during = query.statement.during;
    let mut answer = Answer::default();
    if query.is_nothing() {
        return Ok(answer);
    }
    let mut statement = connection.prepare_cached(query.statement.sql).during(during)?;
    let rows = match &query.params {
        Params::Once(row) => std::slice::from_ref(row),
        Params::Each(rows) => rows,
    };
    for params in rows {
        let changed = execute(&mut statement, params, &mut answer.rows).during(during)?;
        if query.statement.is_exact && changed != 1 {
            return Err(SqliteFailure::RowCount { during, changed });
        }
        answer.changed = answer.changed.saturating_add(changed);
    }
    Ok(answer)
}

/// Returns how many rows the statement changed; adds its result rows to `found`.
fn execute(statement: &mut Statement<'_>, params: &[Param], found: &mut Vec<Row>) -> rusqlite::Result<usize> {
    if statement.column_count() == 0 {
        return statement.execute(params_from_iter(params));
    }
    let before = found.len();
    let mut rows = statement.query(params_from_iter(params))?;
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found.len().saturating_sub(before))
}

/// Passes the rows of a query without parameters to `each`, until it returns false.
///
/// # Errors
/// [`SqliteFailure`], also that of `each`.
pub(super) fn stream(
    connection: &Connection,
    during: &'static str,
    sql: &str,
    mut each: impl FnMut(Row) -> Result<bool, SqliteFailure>,
) -> Result<(), SqliteFailure> {
    let mut statement = connection.prepare(sql).during(during)?;
    let mut rows = statement.query([]).during(during)?;
    while let Some(row) = rows.next().during(during)? {
        if !each(read(row).during(during)?)? {
            break;
        }
    }
    Ok(())
}

/// The mark of `usher store copy`; `None` if there is no table of settings.
pub(super) fn copy_mark(connection: &Connection) -> Result<Option<CopyMark>, SqliteFailure> {
    let has_settings = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'settings')";
    if !connection.query_row(has_settings, [], |row| row.get(0)).during("read a setting")? {
        return Ok(None);
    }
    Ok(run(connection, &settings::get(CopyMark::SETTING))?.first(|row| CopyMark::read(row.text(0)?))?)
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let value = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(_) => Value::Damaged(Vec::new()),
            ValueRef::Text(text) => match str::from_utf8(text) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => Value::Damaged(text.to_owned()),
            },
            ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
        })
    };
    (0..row.as_ref().column_count()).map(value).collect::<rusqlite::Result<_>>().map(Row)
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Int(number) => number.map(ValueRef::Integer),
            Self::Bool(truth) => Some(ValueRef::Integer((*truth).into())),
            Self::Bytes(bytes) => bytes.as_deref().map(ValueRef::Blob),
            Self::Text(text) => text.as_deref().map(|text| ValueRef::Text(text.as_bytes())),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}
