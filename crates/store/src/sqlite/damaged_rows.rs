//! Reads every row, for `usher doctor`: which ones cannot be read, or hold impossible values.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use usher_engine::StreamId;
use usher_engine::ports::{OpenIdRecordId, OperationKind, State, TicketJobId};

use super::failure::{During as _, SqliteFailure};
use super::{api_keys, deliveries, idempotency_records, openid_records, passkeys, payment_records, read, tickets};
use crate::codec;
use crate::damaged_row::{DamagedRow, KeyPart};

const DURING: &str = "look for damaged rows";

/// How the rows of a table are read.
struct Check {
    table: &'static str,
    /// The columns that `read` wants.
    columns: &'static str,
    /// The text after `FROM`.
    from: &'static str,
    /// The columns of the key; they follow the others.
    key: &'static [&'static str],
    /// Fails when the row is damaged.
    read: fn(&Row<'_>) -> Result<(), SqliteFailure>,
}

/// The tables, small ones first: what they hold concerns the whole service.
const CHECKS: [Check; 18] = [
    Check { table: "settings", columns: "value", from: "settings", key: &["name"], read: setting },
    Check {
        table: "api_keys",
        columns: "digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at",
        from: "api_keys",
        key: &["id"],
        read: |row| {
            let key = api_keys::stored(row, DURING)?;
            times(row, &[2, 4, 5, 6])?;
            if codec::is_json(&key.terms) { Ok(()) } else { Err(SqliteFailure::Unreadable("what an API key may do")) }
        },
    },
    Check {
        table: "openid_consents",
        columns: "client_id, subject, scopes, at",
        from: "openid_consents",
        key: &["client_id || '#' || subject"],
        read: |row| {
            openid_records::stored_consent(row).during(DURING)?;
            times(row, &[3])
        },
    },
    Check {
        table: "openid_records",
        columns: "grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes, used_at",
        from: "openid_records",
        key: &["id"],
        read: |row| {
            openid_records::stored(row, OpenIdRecordId(row.get(10).during(DURING)?), DURING)?;
            times(row, &[4, 9])
        },
    },
    Check {
        table: "passkeys",
        columns: "credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at",
        from: "passkeys",
        key: &["credential_id"],
        read: |row| {
            passkeys::passkey(row).during(DURING)?;
            times(row, &[6, 7])
        },
    },
    Check {
        table: "payment_records",
        columns: payment_records::COLUMNS,
        from: "payment_records",
        key: &["stream"],
        read: |row| {
            payment_records::read(row)?;
            times(row, &[9, 10])
        },
    },
    Check {
        table: "ticket_counters",
        columns: "next",
        from: "ticket_counters",
        key: &["mint_url || '#' || keyset"],
        read: |row| row.get::<_, u32>(0).during(DURING).map(drop),
    },
    Check {
        table: "ticket_jobs",
        columns: "revision, state, finished_at",
        from: "ticket_jobs",
        key: &["id"],
        read: ticket_job,
    },
    Check {
        table: "ticket_proofs",
        columns: "id, mint_url, unit, amount, proof, job",
        from: "ticket_proofs",
        key: &["id"],
        read: |row| {
            tickets::stored_proof(row, DURING)?;
            row.get::<_, Option<[u8; 32]>>(5).during(DURING).map(drop)
        },
    },
    Check {
        table: "ticket_claims",
        columns: "job",
        from: "ticket_claims",
        key: &["proof"],
        read: |row| {
            row.get::<_, [u8; 33]>(1).during(DURING)?;
            row.get::<_, [u8; 32]>(0).during(DURING).map(drop)
        },
    },
    Check {
        table: "operations",
        columns: "kind, state, revision, next_index, finished_at, done, correlations, origin, wake_at, outbox,
            watched, at",
        from: "operations",
        key: &["id"],
        read: |row| {
            read::stored(row, DURING)?;
            codec::read_correlations(&row.get::<_, Vec<u8>>(6).during(DURING)?)?;
            times(row, &[4, 8, 11])?;
            row.get::<_, u64>(9).during(DURING)?;
            row.get::<_, Option<[u8; 32]>>(10).during(DURING)?;
            id(row, 12)
        },
    },
    Check {
        table: "outbox",
        columns: "kind, content, main_key, recipients, participants, until, made_at, not_before",
        from: "outbox",
        key: &["operation", "slot"],
        read: |row| {
            read::outbox_message(row, DURING)?;
            id(row, 8)
        },
    },
    Check {
        table: "deliveries",
        columns: "d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
            d.last_status, d.last_error, d.waited, d.queue",
        from: "deliveries AS d LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx",
        key: &["d.stream", "d.idx"],
        read: |row| {
            times(row, &[7, 8, 9])?;
            deliveries::delivery(row, DURING).map(drop)
        },
    },
    Check {
        table: "events",
        columns: "idx, type, at, data",
        from: "events",
        key: &["stream", "idx"],
        read: |row| {
            id(row, 4)?;
            times(row, &[2])?;
            read::event(row, DURING).map(drop)
        },
    },
    Check {
        table: "answers",
        columns: "fingerprint, at, status, media_type, body",
        from: "answers",
        key: &["key"],
        read: |row| {
            row.get::<_, [u8; 32]>(5).during(DURING)?;
            times(row, &[1])?;
            match idempotency_records::stored(row, DURING)? {
                (_, _, 100..=599, ..) => Ok(()),
                _ => Err(SqliteFailure::Unreadable("the status of an idempotency record")),
            }
        },
    },
    Check {
        table: "user_relays",
        columns: "relays, at, signer",
        from: "user_relays",
        key: &["main_key"],
        read: |row| {
            row.get::<_, [u8; 32]>(3).during(DURING)?;
            row.get::<_, Option<String>>(2).during(DURING)?;
            times(row, &[1])?;
            codec::relays(&row.get::<_, String>(0).during(DURING)?)?;
            Ok(())
        },
    },
    Check {
        table: "correlations",
        columns: "operation, until",
        from: "correlations",
        key: &["key"],
        read: |row| {
            id(row, 0)?;
            row.get::<_, Option<u64>>(1).during(DURING)?;
            id(row, 2)
        },
    },
    Check {
        table: "inbound",
        columns: "at",
        from: "inbound",
        key: &["id"],
        read: |row| {
            times(row, &[0])?;
            row.get::<_, [u8; 32]>(1).during(DURING).map(drop)
        },
    },
];

/// How many operations are open, and damaged rows, at most `limit`: by their columns, or because `readable` does not take an
/// open operation's state.
pub(crate) fn damaged_rows(
    connection: &Connection,
    limit: usize,
    readable: impl Fn(&State) -> bool,
) -> Result<(u64, Vec<DamagedRow>), SqliteFailure> {
    let mut damaged = damaged_by_columns(connection, limit)?;
    let open = "SELECT id, kind, state FROM operations WHERE finished_at IS NULL";
    let mut statement = connection.prepare(open).during(DURING)?;
    let mut rows = statement.query([]).during(DURING)?;
    let mut open = 0;
    while let Some(row) = rows.next().during(DURING)? {
        let kind = row.get::<_, u8>(1).ok().and_then(OperationKind::from_code);
        // The reserved stream is always there, and no operation.
        if kind == Some(OperationKind::Subscriptions) {
            continue;
        }
        open += 1;
        // What cannot be read at all has been found above.
        let (Ok(id), Ok(state)) = (row.get(0), row.get(2).map(State)) else { continue };
        let row = DamagedRow::operation(StreamId::from_bytes(id));
        if damaged.len() < limit && !readable(&state) && !damaged.contains(&row) {
            damaged.push(row);
        }
    }
    Ok((open, damaged))
}

fn damaged_by_columns(connection: &Connection, limit: usize) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let mut damaged = Vec::new();
    for Check { table, columns, from, key, read } in &CHECKS {
        let sql = format!("SELECT {columns}, {} FROM {from}", key.join(", "));
        let mut statement = connection.prepare(&sql).during(DURING)?;
        let first_of_key = statement.column_count().saturating_sub(key.len());
        let mut rows = statement.query([]).during(DURING)?;
        while damaged.len() < limit
            && let Some(row) = rows.next().during(DURING)?
        {
            match read(row) {
                Ok(()) => {}
                Err(SqliteFailure::Unreadable(_)) => {
                    damaged.push(DamagedRow::new(table, key_of(row, first_of_key)?));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    Ok(damaged)
}

/// Checks that a column holds a stream's id, or another key of its length.
fn id(row: &Row<'_>, column: usize) -> Result<(), SqliteFailure> {
    row.get::<_, [u8; 16]>(column).during(DURING).map(drop)
}

/// Checks that these columns hold plausible times, or nothing.
fn times(row: &Row<'_>, columns: &[usize]) -> Result<(), SqliteFailure> {
    for column in columns {
        if row.get::<_, Option<u64>>(*column).during(DURING)?.is_some_and(|at| at > codec::LATEST_TIME) {
            return Err(SqliteFailure::Unreadable("a time"));
        }
    }
    Ok(())
}

fn setting(row: &Row<'_>) -> Result<(), SqliteFailure> {
    let value = row.get_ref(0).during(DURING)?.as_str().map_err(|_| SqliteFailure::Unreadable("a setting"))?;
    if codec::is_json(value) { Ok(()) } else { Err(SqliteFailure::Unreadable("a setting")) }
}

fn ticket_job(row: &Row<'_>) -> Result<(), SqliteFailure> {
    let job = tickets::stored_job(row, TicketJobId(row.get(3).during(DURING)?), DURING)?;
    times(row, &[2])?;
    if codec::is_json(&job.state.0) { Ok(()) } else { Err(SqliteFailure::Unreadable("the state of a job")) }
}

/// The columns from this one on, which are the row's key.
fn key_of<'r>(row: &'r Row<'_>, first: usize) -> Result<Vec<KeyPart<'r>>, SqliteFailure> {
    let part = |column| {
        Ok(match row.get_ref(column).during(DURING)? {
            ValueRef::Blob(bytes) => KeyPart::Bytes(bytes),
            ValueRef::Integer(number) => KeyPart::Number(number),
            ValueRef::Text(name) => KeyPart::Text(name),
            ValueRef::Null | ValueRef::Real(_) => KeyPart::Other,
        })
    };
    (first..row.as_ref().column_count()).map(part).collect()
}
