//! The checks of each table.

use rusqlite::{Connection, Row};
use usher_engine::StreamId;
use usher_engine::ports::{DamagedRow, OpenIdRecordId, OperationKind, Table, TicketJobId};

use super::super::failure::{During as _, SqliteFailure};
use super::super::{codec, deliveries, idempotency_records, openid_records, read, tickets};
use super::{Check, DURING, Key, hex};

/// Most missing events that are listed between two that are there.
const MOST_MISSING: u64 = 10;

/// The tables, small ones first: what they hold concerns the whole service.
pub(super) const CHECKS: [Check; 15] = [
    Check {
        table: Table::Settings,
        columns: "value",
        from: "settings",
        key: Key::Text("name"),
        read: |row| setting(row).map(|()| Vec::new()),
    },
    Check {
        table: Table::OpenIdConsents,
        columns: "client_id, subject, scopes, at",
        from: "openid_consents",
        key: Key::Text("(client_id || '#' || subject)"),
        read: |row| {
            openid_records::stored_consent(row).during(DURING)?;
            times(row, &[3]).map(|()| Vec::new())
        },
    },
    Check {
        table: Table::OpenIdRecords,
        columns: "grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes, used_at",
        from: "openid_records",
        key: Key::Bytes("id"),
        read: |row| {
            openid_records::stored(row, OpenIdRecordId(row.get(10).during(DURING)?), DURING)?;
            times(row, &[4, 9]).map(|()| Vec::new())
        },
    },
    Check {
        table: Table::TicketCounters,
        columns: "next",
        from: "ticket_counters",
        key: Key::Text("(mint_url || '#' || keyset)"),
        read: |row| row.get::<_, u32>(0).during(DURING).map(|_| Vec::new()),
    },
    Check {
        table: Table::TicketJobs,
        columns: "revision, state, finished_at",
        from: "ticket_jobs",
        key: Key::Bytes("id"),
        read: ticket_job,
    },
    Check {
        table: Table::TicketProofs,
        columns: "id, mint_url, unit, amount, proof, job, (SELECT j.id FROM ticket_jobs AS j WHERE j.id = ticket_proofs.job)",
        from: "ticket_proofs",
        key: Key::Bytes("id"),
        read: |row| {
            tickets::stored_proof(row, DURING)?;
            missing_job(row, 5)
        },
    },
    Check {
        table: Table::TicketClaims,
        columns: "job, (SELECT j.id FROM ticket_jobs AS j WHERE j.id = ticket_claims.job)",
        from: "ticket_claims",
        key: Key::Bytes("proof"),
        read: |row| {
            row.get::<_, [u8; 33]>(2).during(DURING)?;
            row.get::<_, [u8; 32]>(0).during(DURING)?;
            missing_job(row, 0)
        },
    },
    Check {
        table: Table::Operations,
        columns: "kind, state, revision, next_index, finished_at, done, correlations, wake_at, outbox, watched, at,
            (SELECT max(idx) FROM events WHERE stream = operations.id)",
        from: "operations",
        key: Key::Bytes("id"),
        read: operation,
    },
    Check {
        table: Table::Outbox,
        columns: "kind, content, main_key, recipients, participants, until, made_at, not_before",
        from: "outbox",
        key: Key::Pair("operation", "slot"),
        read: |row| {
            read::outbox_message(row, DURING)?;
            id(row, 8)?;
            Ok(Vec::new())
        },
    },
    Check {
        table: Table::Deliveries,
        columns: "d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
            d.last_status, d.last_error, d.waited, d.queue",
        from: "deliveries AS d LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx",
        key: Key::Pair("d.stream", "d.idx"),
        read: |row| {
            times(row, &[7, 8, 9])?;
            deliveries::delivery(row, DURING).map(|_| Vec::new())
        },
    },
    Check {
        table: Table::Events,
        columns: "e.idx, e.type, e.at, e.data,
            (SELECT max(p.idx) FROM events AS p WHERE p.stream = e.stream AND p.idx < e.idx),
            (SELECT o.kind FROM operations AS o WHERE o.id = e.stream)",
        from: "events AS e",
        key: Key::Pair("e.stream", "e.idx"),
        read: event,
    },
    Check {
        table: Table::IdempotencyRecords,
        columns: "fingerprint, at, status, media_type, body",
        from: "answers",
        key: Key::Bytes("key"),
        read: |row| {
            row.get::<_, [u8; 32]>(5).during(DURING)?;
            times(row, &[1])?;
            match idempotency_records::stored(row, DURING)? {
                (_, _, 100..=599, ..) => Ok(Vec::new()),
                _ => Err(SqliteFailure::Unreadable("the status of an idempotency record")),
            }
        },
    },
    Check {
        table: Table::UserRelays,
        columns: "relays, at, signer",
        from: "user_relays",
        key: Key::Bytes("main_key"),
        read: |row| {
            row.get::<_, [u8; 32]>(3).during(DURING)?;
            row.get::<_, Option<String>>(2).during(DURING)?;
            times(row, &[1])?;
            read::relays(&row.get::<_, String>(0).during(DURING)?).map(|_| Vec::new())
        },
    },
    Check {
        table: Table::Correlations,
        columns: "operation, until",
        from: "correlations",
        key: Key::Bytes("key"),
        read: |row| {
            id(row, 0)?;
            row.get::<_, Option<u64>>(1).during(DURING)?;
            id(row, 2).map(|_| Vec::new())
        },
    },
    Check {
        table: Table::Inbound,
        columns: "at",
        from: "inbound",
        key: Key::Bytes("id"),
        read: |row| {
            times(row, &[0])?;
            row.get::<_, [u8; 32]>(1).during(DURING).map(|_| Vec::new())
        },
    },
];

/// The reserved stream's operation, which is always there, unless it is missing.
pub(super) fn reserved_stream(connection: &Connection) -> Result<Option<DamagedRow>, SqliteFailure> {
    let id = StreamId::SUBSCRIPTIONS;
    let is_there = connection
        .prepare("SELECT 1 FROM operations WHERE id = ?1")
        .and_then(|mut statement| statement.exists([id.as_bytes()]))
        .during(DURING)?;
    Ok((!is_there).then(|| DamagedRow { table: Table::Operations, id: id.to_string() }))
}

fn id(row: &Row<'_>, column: usize) -> Result<[u8; 16], SqliteFailure> {
    row.get(column).during(DURING)
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

fn ticket_job(row: &Row<'_>) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let job = tickets::stored_job(row, TicketJobId(row.get(3).during(DURING)?), DURING)?;
    times(row, &[2])?;
    if codec::is_json(&job.state.0) { Ok(Vec::new()) } else { Err(SqliteFailure::Unreadable("the state of a job")) }
}

/// The job that a row names in this column, unless the next column says that it is there.
fn missing_job(row: &Row<'_>, column: usize) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let job: Option<[u8; 32]> = row.get(column).during(DURING)?;
    let found: Option<[u8; 32]> = row.get(column + 1).during(DURING)?;
    let missing = job.filter(|_| found.is_none());
    Ok(missing.map(|id| DamagedRow { table: Table::TicketJobs, id: hex(&id) }).into_iter().collect())
}

/// Its own columns, and whether the last of its events are there.
fn operation(row: &Row<'_>) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let stored = read::stored(row, DURING)?;
    codec::read_correlations(&row.get::<_, Vec<u8>>(6).during(DURING)?)?;
    times(row, &[4, 7, 10])?;
    row.get::<_, u64>(8).during(DURING)?;
    row.get::<_, Option<[u8; 32]>>(9).during(DURING)?;
    let stream = StreamId::from_bytes(id(row, 12)?);
    let next_there = row.get::<_, Option<i64>>(11).during(DURING)?.map_or(0, |last| last.saturating_add(1));
    let next_there = u64::try_from(next_there).unwrap_or_default();
    if next_there > stored.next_index {
        return Err(SqliteFailure::Unreadable("the number of an operation's events"));
    }
    // The newest event always stays; where old ones have been removed, their number is not recorded.
    let first_missing =
        if next_there == 0 && loses_old_events(stored.kind) { stored.next_index.saturating_sub(1) } else { next_there };
    Ok(missing(stream, first_missing, stored.next_index))
}

/// Its own columns, whether those before it are there, and its operation.
fn event(row: &Row<'_>) -> Result<Vec<DamagedRow>, SqliteFailure> {
    let stream = StreamId::from_bytes(id(row, 6)?);
    let index: i64 = row.get(0).during(DURING)?;
    let previous: Option<i64> = row.get(4).during(DURING)?;
    let kind = match row.get::<_, Option<u8>>(5).during(DURING) {
        Ok(None) => return Ok(vec![DamagedRow { table: Table::Operations, id: stream.to_string() }]),
        // An unknown kind: its row is listed among the operations.
        Ok(Some(code)) => OperationKind::from_code(code),
        Err(SqliteFailure::Unreadable(_)) => None,
        Err(failure) => return Err(failure),
    };
    let first_missing = match previous {
        None if kind.is_none_or(loses_old_events) => index,
        None => 0,
        Some(previous) => previous.saturating_add(1),
    };
    let count = |index: i64| u64::try_from(index).unwrap_or_default();
    let mut damaged = missing(stream, count(first_missing), count(index));
    match times(row, &[2]).and_then(|()| read::event(row, DURING)) {
        Ok(_) => {}
        Err(SqliteFailure::Unreadable(_)) => {
            damaged.push(DamagedRow { table: Table::Events, id: format!("{stream}:{index}") });
        }
        Err(failure) => return Err(failure),
    }
    Ok(damaged)
}

/// Whether events of such operations are removed while the operation stays.
fn loses_old_events(kind: OperationKind) -> bool {
    matches!(kind, OperationKind::Subscriptions | OperationKind::KeyHandshake)
}

/// The events from `first` to before `end`, the first few of them.
fn missing(stream: StreamId, first: u64, end: u64) -> Vec<DamagedRow> {
    let end = end.min(first.saturating_add(MOST_MISSING));
    (first..end).map(|index| DamagedRow { table: Table::Events, id: format!("{stream}:{index}") }).collect()
}
