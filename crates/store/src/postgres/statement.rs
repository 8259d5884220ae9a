//! Statements, parameters and rows in PostgreSQL's form.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::nul_escaping;
use crate::row::{Row, Value};
use crate::statement::{Param, Params, Query};

/// Identifies a statement: its text, and whether it runs for a list of rows.
pub(super) type StatementKey = (&'static str, bool);

pub(super) const fn key(query: &Query) -> StatementKey {
    (query.statement.sql, matches!(query.params, Params::Each(_)))
}

/// The statement's text, derived from SQLite's:
///
/// - `$1` for `?1`, and no `INDEXED BY`: sessions disable sequential scans instead;
/// - `strpos` for `instr`, and the column `seq` for `rowid`;
/// - if it runs for each row of a list, lists for `= ?1` and for `VALUES (?1, …)`;
/// - if it must change exactly as many rows as given, it checks that in the database.
pub(super) fn text(query: &Query) -> String {
    let mut sql = query.statement.postgres.unwrap_or(query.statement.sql).to_owned();
    let mut parameters = 0;
    if let Params::Each(rows) = &query.params
        && let Some(row) = rows.first()
    {
        let places = (1..=row.len()).map(|place| format!("?{place}")).collect::<Vec<_>>();
        let lists = places.iter().zip(row).map(|(place, param)| format!("{place}::{}[]", param_type(param)));
        let lists = lists.collect::<Vec<_>>().join(", ");
        sql = sql.replace(&format!("VALUES ({})", places.join(", ")), &format!("SELECT * FROM unnest({lists})"));
        if row.len() == 1 {
            sql = sql.replace("= ?1", &format!("= ANY({lists})"));
        }
        parameters = row.len();
    } else if let Params::Once(row) = &query.params {
        parameters = row.len();
    }
    while let Some((before, rest)) = sql.split_once(" INDEXED BY ") {
        let after = rest.trim_start_matches(|character: char| character == '_' || character.is_ascii_alphanumeric());
        sql = format!("{before}{after}");
    }
    if query.statement.is_exact {
        let count = parameters.saturating_add(1);
        sql = format!(
            "WITH changed AS ({sql} RETURNING 1) SELECT expect_rows((SELECT count(*) FROM changed), ${count}::bigint)"
        );
    }
    sql.replace('?', "$").replace("instr(", "strpos(").replace(" rowid", " seq")
}

const fn param_type(param: &Param) -> &'static str {
    match param {
        Param::Int(_) => "bigint",
        Param::Bool(_) => "boolean",
        Param::Bytes(_) => "bytea",
        Param::Text(_) => "text",
    }
}

pub(super) enum Bound<'a> {
    One(&'a Param),
    /// A parameter of all rows.
    List(Vec<&'a Param>),
    /// The number of rows that must change.
    Rows(i64),
}

pub(super) fn bound(query: &Query) -> Vec<Bound<'_>> {
    let (mut bound, rows): (Vec<_>, _) = match &query.params {
        Params::Once(row) => (row.iter().map(Bound::One).collect(), 1),
        Params::Each(rows) => {
            let columns = rows.first().map_or(0, Vec::len);
            let list = |column| Bound::List(rows.iter().filter_map(|row| row.get(column)).collect());
            ((0..columns).map(list).collect(), rows.len())
        }
    };
    if query.statement.is_exact {
        bound.push(Bound::Rows(crate::codec::limit(rows)));
    }
    bound
}

impl std::fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl ToSql for Bound<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::One(param) => param.to_sql_checked(ty, out),
            Self::List(params) => params.to_sql_checked(ty, out),
            Self::Rows(count) => count.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Param {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        // The checked variants: a statement that expects another type fails instead of storing another value.
        match self {
            Self::Int(value) => value.to_sql_checked(ty, out),
            Self::Bool(value) => value.to_sql_checked(ty, out),
            Self::Bytes(value) => value.as_deref().to_sql_checked(ty, out),
            Self::Text(value) => value.as_deref().map(nul_escaping::encode).to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

pub(super) fn row(row: &tokio_postgres::Row) -> Row {
    Row((0..row.len()).map(|column| value(row, column)).collect())
}

fn value(row: &tokio_postgres::Row, column: usize) -> Value {
    let ty = row.columns().get(column).map(|column| column.type_().clone());
    match ty {
        Some(Type::INT8) => get(row, column, Value::Integer),
        Some(Type::INT4) => get(row, column, |number: i32| Value::Integer(number.into())),
        Some(Type::BOOL) => get(row, column, |truth: bool| Value::Integer(truth.into())),
        Some(Type::BYTEA) => get(row, column, Value::Blob),
        Some(Type::TEXT) => get(row, column, |text: String| match nul_escaping::decode(&text) {
            Ok(text) => Value::Text(text.into_owned()),
            Err(_) => Value::Damaged(text.into_bytes()),
        }),
        _ => Value::Damaged(Vec::new()),
    }
}

fn get<'r, T: FromSql<'r>>(row: &'r tokio_postgres::Row, column: usize, value: impl FnOnce(T) -> Value) -> Value {
    // The value may have a type that this program never writes.
    row.try_get(column).map_or(Value::Damaged(Vec::new()), |found: Option<T>| found.map_or(Value::Null, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{Statement, params};

    #[test]
    fn texts_are_made_of_sqlites() {
        let once = Statement::new("", "SELECT instr(a, ?2) FROM t INDEXED BY t_b WHERE b = ?1 ORDER BY rowid");
        assert_eq!(text(&once.with(params![1_i64, "x"])), "SELECT strpos(a, $2) FROM t WHERE b = $1 ORDER BY seq");
        let each = Statement::new("", "DELETE FROM t INDEXED BY t_b WHERE b = ?1");
        assert_eq!(text(&each.each([params![[1; 16]]])), "DELETE FROM t WHERE b = ANY($1::bytea[])");
        let exact = Statement::new("", "INSERT INTO t (a, b) VALUES (?1, ?2)").exact();
        assert_eq!(
            text(&exact.each([params![true, None::<i64>]])),
            "WITH changed AS (INSERT INTO t (a, b) SELECT * FROM unnest($1::boolean[], $2::bigint[]) RETURNING 1) \
             SELECT expect_rows((SELECT count(*) FROM changed), $3::bigint)"
        );
        assert_eq!(text(&Statement::new("", "a = ?1").postgres("b = ?1").with(params![1_i64])), "b = $1");
    }
}
