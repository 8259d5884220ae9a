//! Which rows cannot be read.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use usher_engine::StreamId;
use usher_engine::ports::{DamagedRow, Table};

use super::failure::{During as _, SqliteFailure};
use super::{codec, deliveries, read};

const DURING: &str = "look for damaged rows";

/// How a table is read: the columns that the ordinary readers ask for, then those that say which row it is.
struct Check {
    table: Table,
    sql: &'static str,
    read: fn(&Row<'_>) -> Result<(), SqliteFailure>,
    /// The first column of the id.
    id: usize,
}

const CHECKS: [Check; 5] = [
    Check {
        table: Table::Operations,
        sql:
            "SELECT kind, state, revision, next_index, finished_at, done, correlations, wake_at, outbox, watched, at, id
              FROM operations",
        read: operation,
        id: 11,
    },
    Check {
        table: Table::Events,
        sql: "SELECT idx, type, at, data, stream, idx FROM events",
        read: |row| read::event(row, DURING).map(|_| ()),
        id: 4,
    },
    Check {
        table: Table::Outbox,
        sql: "SELECT kind, content, main_key, recipients, participants, until, made_at, not_before, operation FROM outbox",
        read: |row| read::outbox_message(row, DURING).map(|_| ()),
        id: 8,
    },
    Check {
        table: Table::Deliveries,
        sql: "SELECT d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
                  d.last_status, d.last_error, d.waited, d.stream, d.idx
              FROM deliveries AS d LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx",
        read: |row| deliveries::delivery(row, DURING).map(|_| ()),
        id: 13,
    },
    Check {
        table: Table::UserRelays,
        sql: "SELECT relays, main_key FROM user_relays",
        read: |row| read::relays(&row.get::<_, String>(0).during(DURING)?).map(|_| ()),
        id: 1,
    },
];

/// See [`Store::damaged_rows`](usher_engine::ports::Store::damaged_rows).
pub(crate) fn damaged_rows(connection: &Connection, limit: usize) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let mut damaged = Vec::new();
    for check in CHECKS {
        let mut statement = connection.prepare_cached(check.sql).during(DURING)?;
        let mut rows = statement.query([]).during(DURING)?;
        while damaged.len() < limit
            && let Some(row) = rows.next().during(DURING)?
        {
            match (check.read)(row) {
                Ok(()) => {}
                Err(SqliteFailure::Unreadable(_)) => {
                    damaged.push(DamagedRow { table: check.table, id: id_of(row, check.id)? });
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    Ok(damaged)
}

fn operation(row: &Row<'_>) -> Result<(), SqliteFailure> {
    read::stored(row, DURING)?;
    codec::read_correlations(&row.get::<_, Vec<u8>>(6).during(DURING)?)?;
    row.get::<_, Option<u64>>(7).during(DURING)?;
    row.get::<_, u64>(8).during(DURING)?;
    row.get::<_, Option<[u8; 32]>>(9).during(DURING)?;
    row.get::<_, u64>(10).during(DURING)?;
    row.get::<_, [u8; 16]>(11).during(DURING).map(|_| ())
}

/// A stream's id, a key in hex; with the index after a colon, where there is one.
fn id_of(row: &Row<'_>, first: usize) -> Result<String, SqliteFailure> {
    let mut parts = Vec::new();
    for column in first..row.as_ref().column_count() {
        parts.push(match row.get_ref(column).during(DURING)? {
            ValueRef::Blob(bytes) => match bytes.try_into() {
                Ok(id) => StreamId::from_bytes(id).to_string(),
                Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) => "?".to_owned(),
        });
    }
    Ok(parts.join(":"))
}
