//! Reads every row, for `usher doctor`: which ones cannot be read, or hold impossible values.
//!
//! PostgreSQL keeps the types of columns itself: what is left are values that the program never writes.

use futures_util::TryStreamExt as _;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use usher_engine::StreamId;
use usher_engine::ports::{OpenIdRecordId, OperationKind, State, TicketJobId};

use super::failure::PostgresFailure;
use super::session::Session;
use super::{
    api_keys, columns, deliveries, idempotency_records, openid_records, passkeys, payment_records, read, tickets,
};
use crate::codec;
use crate::damaged_row::{DamagedRow, KeyPart, StateCheck};

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
    read: fn(&Row) -> Result<(), PostgresFailure>,
}

/// The tables, small ones first: what they hold concerns the whole service.
const CHECKS: [Check; 18] = [
    Check { table: "settings", columns: "value", from: "settings", key: &["name"], read: |row| json(row, 0) },
    Check {
        table: "api_keys",
        columns: "digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at",
        from: "api_keys",
        key: &["id"],
        read: |row| {
            api_keys::stored(row)?;
            times(row, &[2, 4, 5, 6])?;
            json(row, 3)
        },
    },
    Check {
        table: "openid_consents",
        columns: "client_id, subject, scopes, at",
        from: "openid_consents",
        key: &["client_id || '#' || subject"],
        read: |row| {
            openid_records::consent(row)?;
            times(row, &[3])
        },
    },
    Check {
        table: "openid_records",
        columns: "grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes, used_at",
        from: "openid_records",
        key: &["id"],
        read: |row| {
            openid_records::stored(row, OpenIdRecordId(columns::bytes(row, 10)?))?;
            times(row, &[4, 9])
        },
    },
    Check {
        table: "passkeys",
        columns: "credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at",
        from: "passkeys",
        key: &["credential_id"],
        read: |row| {
            passkeys::read(row)?;
            times(row, &[6, 7])
        },
    },
    Check {
        table: "payment_records",
        columns: "stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at, \
            refund_of, price",
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
        read: |row| columns::int::<u32>(row, 0).map(drop),
    },
    Check {
        table: "ticket_jobs",
        columns: "revision, state, finished_at",
        from: "ticket_jobs",
        key: &["id"],
        read: |row| {
            tickets::job(row, TicketJobId(columns::bytes(row, 3)?))?;
            times(row, &[2])?;
            json(row, 1)
        },
    },
    Check {
        table: "ticket_proofs",
        columns: "id, mint_url, unit, amount, proof, job",
        from: "ticket_proofs",
        key: &["id"],
        read: |row| {
            tickets::proof(row)?;
            columns::optional_bytes::<32>(row, 5).map(drop)
        },
    },
    Check {
        table: "ticket_claims",
        columns: "job",
        from: "ticket_claims",
        key: &["proof"],
        read: |row| {
            columns::bytes::<33>(row, 1)?;
            columns::bytes::<32>(row, 0).map(drop)
        },
    },
    Check {
        table: "operations",
        columns: "kind, state, revision, next_index, finished_at, done, correlations, origin, wake_at, outbox,
            watched, at",
        from: "operations",
        key: &["id"],
        read: |row| {
            read::operation(row)?;
            times(row, &[4, 8, 11])?;
            columns::int::<u64>(row, 9)?;
            columns::optional_bytes::<32>(row, 10)?;
            id(row, 12)
        },
    },
    Check {
        table: "outbox",
        columns: "kind, content, main_key, recipients, participants, until, made_at, not_before",
        from: "outbox",
        key: &["operation", "slot"],
        read: |row| {
            read::outbox_message(row)?;
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
            deliveries::delivery(row).map(drop)
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
            read::event(row).map(drop)
        },
    },
    Check {
        table: "answers",
        columns: "fingerprint, at, status, media_type, body",
        from: "answers",
        key: &["key"],
        read: |row| {
            let key = columns::bytes(row, 5)?;
            times(row, &[1])?;
            match idempotency_records::stored(row, key)?.status {
                100..=599 => Ok(()),
                _ => Err(PostgresFailure::Unreadable("the status of an idempotency record")),
            }
        },
    },
    Check {
        table: "user_relays",
        columns: "relays, at, signer",
        from: "user_relays",
        key: &["main_key"],
        read: |row| {
            columns::bytes::<32>(row, 3)?;
            columns::optional_text(row, 2)?;
            times(row, &[1])?;
            codec::relays(&columns::text(row, 0)?)?;
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
            columns::optional_int::<u64>(row, 1)?;
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
            columns::bytes::<32>(row, 1).map(drop)
        },
    },
];

/// How many operations are open, and damaged rows, at most `limit`: by their columns, or because `readable` does not take an
/// open operation's state.
pub(super) async fn damaged_rows(
    session: &Session,
    limit: usize,
    readable: StateCheck,
) -> Result<(u64, Vec<DamagedRow>), PostgresFailure> {
    const OPEN: &str = "SELECT id, kind, state FROM operations WHERE finished_at IS NULL";
    let mut damaged = Vec::new();
    for Check { table, columns, from, key, read } in &CHECKS {
        let sql = format!("SELECT {columns}, {} FROM {from}", key.join(", "));
        let mut rows = std::pin::pin!(session.stream(DURING, &sql).await?);
        while damaged.len() < limit
            && let Some(row) = rows.try_next().await.map_err(|error| PostgresFailure::new(DURING, &error))?
        {
            match read(&row) {
                Ok(()) => {}
                Err(PostgresFailure::Unreadable(_)) => {
                    damaged.push(DamagedRow::new(table, key_of(&row, row.len().saturating_sub(key.len()))));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    let mut rows = std::pin::pin!(session.stream(DURING, OPEN).await?);
    let mut open = 0;
    while let Some(row) = rows.try_next().await.map_err(|error| PostgresFailure::new(DURING, &error))? {
        let kind = columns::int::<u8>(&row, 1).ok().and_then(OperationKind::from_code);
        // The reserved stream is always there, and no operation.
        if kind == Some(OperationKind::Subscriptions) {
            continue;
        }
        open += 1;
        // What cannot be read at all has been found above.
        let (Ok(id), Ok(state)) = (columns::bytes(&row, 0), columns::text(&row, 2).map(State)) else { continue };
        let row = DamagedRow::operation(StreamId::from_bytes(id));
        if damaged.len() < limit && !readable(&state) && !damaged.contains(&row) {
            damaged.push(row);
        }
    }
    Ok((open, damaged))
}

/// Checks that a column holds a stream's id, or another key of its length.
fn id(row: &Row, column: usize) -> Result<(), PostgresFailure> {
    columns::bytes::<16>(row, column).map(drop)
}

/// Checks that these columns hold plausible times, or nothing.
fn times(row: &Row, times: &[usize]) -> Result<(), PostgresFailure> {
    for column in times {
        if columns::optional_int::<u64>(row, *column)?.is_some_and(|at| at > codec::LATEST_TIME) {
            return Err(PostgresFailure::Unreadable("a time"));
        }
    }
    Ok(())
}

fn json(row: &Row, column: usize) -> Result<(), PostgresFailure> {
    if codec::is_json(&columns::text(row, column)?) { Ok(()) } else { Err(PostgresFailure::Unreadable("JSON")) }
}

/// The columns from this one on, which are the row's key.
fn key_of(row: &Row, first: usize) -> impl Iterator<Item = KeyPart<'_>> {
    row.columns().iter().enumerate().skip(first).map(|(column, of)| {
        let part = match *of.type_() {
            Type::BYTEA => columns::get(row, column).map(KeyPart::Bytes),
            Type::INT8 => columns::get(row, column).map(KeyPart::Number),
            Type::TEXT => columns::get::<&str>(row, column).map(|text| KeyPart::Text(text.as_bytes())),
            _ => Ok(KeyPart::Other),
        };
        part.unwrap_or(KeyPart::Other)
    })
}
