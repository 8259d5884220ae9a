//! Reads every row for `usher doctor`, to find those that cannot be read or hold impossible values.

use usher_engine::StreamId;
use usher_engine::ports::{OpenIdRecordId, OperationKind, State, TicketJobId};

use crate::codec::{self, Unreadable};
use crate::damaged_row::DamagedRow;
use crate::records::{
    api_keys, deliveries, hourly_sums, idempotency_records, login_records, openid_records, operations, passkeys,
    payment_records, ticket_rows, tickets,
};
use crate::row::Row;

pub(crate) const DURING: &str = "look for damaged rows";

pub(crate) struct Check {
    table: &'static str,
    /// The columns that `read` uses.
    columns: &'static str,
    /// The text after `FROM`.
    from: &'static str,
    /// The columns of the key, selected after the others.
    key: &'static [&'static str],
    /// Fails if the row is damaged.
    read: fn(&Row) -> Result<(), Unreadable>,
}

/// The tables, small ones first: those affect the whole service.
pub(crate) const CHECKS: [Check; 20] = [
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
            openid_records::stored(row, OpenIdRecordId(row.bytes(10)?))?;
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
        table: "hourly_sums",
        columns: "hour, paid, paid_millisats, refunded_millisats, sent_millisats, unpaid, logins, logins_failed",
        from: "hourly_sums",
        key: &["hour"],
        read: |row| hourly_sums::read(row).map(drop),
    },
    Check {
        table: "login_records",
        columns: "at, operation, stream, origin, status, method, app, main_key, reason",
        from: "login_records",
        key: &["operation"],
        read: |row| {
            login_records::read(row)?;
            times(row, &[0])
        },
    },
    Check {
        table: "ticket_counters",
        columns: "next",
        from: "ticket_counters",
        key: &["mint_url || '#' || keyset"],
        read: |row| row.int::<u32>(0).map(drop),
    },
    Check {
        table: "ticket_jobs",
        columns: "revision, state, finished_at",
        from: "ticket_jobs",
        key: &["id"],
        read: |row| {
            ticket_rows::job(row, TicketJobId(row.bytes(3)?))?;
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
            row.optional_bytes::<32>(5).map(drop)
        },
    },
    Check {
        table: "ticket_claims",
        columns: "job",
        from: "ticket_claims",
        key: &["proof"],
        read: |row| {
            row.bytes::<33>(1)?;
            row.bytes::<32>(0).map(drop)
        },
    },
    Check {
        table: "operations",
        columns: "kind, state, revision, next_index, finished_at, done, correlations, origin, wake_at, outbox,
            watched, at",
        from: "operations",
        key: &["id"],
        read: |row| {
            operations::operation(row)?;
            times(row, &[4, 8, 11])?;
            row.int::<u64>(9)?;
            row.optional_bytes::<32>(10)?;
            id(row, 12)
        },
    },
    Check {
        table: "outbox",
        columns: "kind, content, main_key, recipients, participants, until, made_at, not_before",
        from: "outbox",
        key: &["operation", "slot"],
        read: |row| {
            operations::outbox_message(row)?;
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
            operations::event(row).map(drop)
        },
    },
    Check {
        table: "answers",
        columns: "fingerprint, at, status, media_type, body",
        from: "answers",
        key: &["key"],
        read: |row| {
            let key = row.bytes(5)?;
            times(row, &[1])?;
            match idempotency_records::stored(row, key)?.status {
                100..=599 => Ok(()),
                _ => Err(Unreadable("the status of an idempotency record")),
            }
        },
    },
    Check {
        table: "user_relays",
        columns: "relays, at, signer",
        from: "user_relays",
        key: &["main_key"],
        read: |row| {
            row.bytes::<32>(3)?;
            row.optional_text(2)?;
            times(row, &[1])?;
            codec::relays(row.text(0)?)?;
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
            row.optional_int::<u64>(1)?;
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
            row.bytes::<32>(1).map(drop)
        },
    },
];

/// The open operations, whose states are also checked.
pub(crate) const OPEN: &str = "SELECT id, kind, state FROM operations WHERE finished_at IS NULL";

impl Check {
    pub(crate) fn sql(&self) -> String {
        format!("SELECT {}, {} FROM {}", self.columns, self.key.join(", "), self.from)
    }
}

/// The findings so far.
pub(crate) struct Found {
    limit: usize,
    damaged: Vec<DamagedRow>,
    open: u64,
}

impl Found {
    /// Lists at most `limit` damaged rows.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, damaged: Vec::new(), open: 0 }
    }

    /// Whether the limit is reached.
    pub(crate) const fn is_full(&self) -> bool {
        self.damaged.len() >= self.limit
    }

    pub(crate) fn check(&mut self, Check { table, key, read, .. }: &Check, row: &Row) {
        if read(row).is_err() {
            let key = row.0.get(row.0.len().saturating_sub(key.len())..).unwrap_or_default();
            self.damaged.push(DamagedRow::new(table, key));
        }
    }

    /// Checks the state in a row of [`OPEN`].
    pub(crate) fn check_open(&mut self, row: &Row, readable: impl Fn(&State) -> bool) {
        let kind = row.int(1).ok().and_then(OperationKind::from_code);
        // The reserved stream always exists and is not an operation.
        if kind == Some(OperationKind::Subscriptions) {
            return;
        }
        self.open += 1;
        // Unreadable columns were found above.
        let (Ok(id), Ok(state)) = (row.bytes(0), row.string(2).map(State)) else { return };
        let row = DamagedRow::operation(StreamId::from_bytes(id));
        if !self.is_full() && !readable(&state) && !self.damaged.contains(&row) {
            self.damaged.push(row);
        }
    }

    /// The number of open operations, and the damaged rows: by their columns, or with invalid states.
    pub(crate) fn result(self) -> (u64, Vec<DamagedRow>) {
        (self.open, self.damaged)
    }
}

/// Checks that a column holds a key of 16 bytes.
fn id(row: &Row, column: usize) -> Result<(), Unreadable> {
    row.bytes::<16>(column).map(drop)
}

/// Checks that these columns hold plausible times or NULL.
fn times(row: &Row, columns: &[usize]) -> Result<(), Unreadable> {
    for column in columns {
        if row.optional_int::<u64>(*column)?.is_some_and(|at| at > codec::LATEST_TIME) {
            return Err(Unreadable("a time"));
        }
    }
    Ok(())
}

fn json(row: &Row, column: usize) -> Result<(), Unreadable> {
    if codec::is_json(row.text(column)?) { Ok(()) } else { Err(Unreadable("JSON")) }
}
