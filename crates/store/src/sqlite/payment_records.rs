//! The books: payments that the service received or made.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::ports::{BookedPayment, PaymentFilter, PaymentKind, PaymentRecord, PaymentRecordStatus};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;

use super::failure::{During as _, SqliteFailure};
use crate::codec::{self, Unreadable};

/// What the books say about this payment from now on.
pub(crate) fn put(
    connection: &Connection,
    stream: StreamId,
    record: &PaymentRecord,
    at: UnixMillis,
) -> Result<(), SqliteFailure> {
    const DURING: &str = "enter a payment into the books";
    let PaymentRecord { kind, status, amount, settled, fee, description, reference, payment_hash, price, refund_of } =
        record;
    connection
        .prepare_cached(
            "INSERT INTO payment_records
                 (stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at,
                  refund_of, price)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11, ?12)
             ON CONFLICT (stream) DO UPDATE SET status = excluded.status, settled = excluded.settled, fee = excluded.fee,
                 payment_hash = excluded.payment_hash, changed_at = excluded.changed_at
             WHERE (payment_records.status, payment_records.settled, payment_records.fee, payment_records.payment_hash)
                 IS NOT (excluded.status, excluded.settled, excluded.fee, excluded.payment_hash)",
        )
        .during(DURING)?
        .execute(params![
            stream.as_bytes(),
            kind.as_str(),
            status.as_str(),
            codec::integer(*amount),
            settled.map(codec::integer),
            fee.map(codec::integer),
            description,
            reference,
            payment_hash.map(|hash| *hash.as_bytes()),
            codec::time(at),
            refund_of.map(|payment| *payment.as_bytes()),
            price,
        ])
        .during(DURING)
        .map(|_| ())
}

pub(super) const COLUMNS: &str = "stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at, refund_of, price";

/// See [`Store::payment_records`](usher_engine::ports::Store::payment_records).
pub(crate) fn list(
    connection: &Connection,
    filter: PaymentFilter,
    after: Option<StreamId>,
    limit: usize,
) -> Result<Vec<BookedPayment>, SqliteFailure> {
    const DURING: &str = "read the books";
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM payment_records
             WHERE (created_at, stream) >
                 (coalesce((SELECT created_at FROM payment_records WHERE stream = ?1), -1), ?1)
                 AND created_at >= ?2 AND created_at < ?3 AND (?4 IS NULL OR status = ?4)
             ORDER BY created_at, stream"
        ))
        .during(DURING)?;
    let rows = statement
        .query(params![
            codec::after_stream(after.as_ref()),
            codec::time(filter.from.unwrap_or(UnixMillis(0))),
            filter.to.map_or(i64::MAX, codec::time),
            filter.status.map(PaymentRecordStatus::as_str),
        ])
        .during(DURING)?;
    readable(rows, limit)
}

fn readable(mut rows: rusqlite::Rows<'_>, limit: usize) -> Result<Vec<BookedPayment>, SqliteFailure> {
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next().during("read the books")?
    {
        match read(row) {
            Ok(payment) => found.push(payment),
            Err(SqliteFailure::Unreadable(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}

/// See [`Store::payment_record`](usher_engine::ports::Store::payment_record).
pub(crate) fn find(connection: &Connection, id: StreamId) -> Result<Option<BookedPayment>, SqliteFailure> {
    const DURING: &str = "read a payment in the books";
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM payment_records WHERE stream = ?1"))
        .during(DURING)?
        .query_row([id.as_bytes()], |row| Ok(read(row)))
        .optional()
        .during(DURING)?
        .transpose()
}

/// A row of [`COLUMNS`].
pub(crate) fn read(row: &Row<'_>) -> Result<BookedPayment, SqliteFailure> {
    const DURING: &str = "read the books";
    let word = |column| row.get::<_, String>(column).during(DURING);
    let time = |column| row.get(column).map(UnixMillis).during(DURING);
    let kind = PaymentKind::from_word(&word(1)?).ok_or(Unreadable("the kind of a payment in the books"))?;
    let status = PaymentRecordStatus::from_word(&word(2)?).ok_or(Unreadable("the status of a payment in the books"))?;
    Ok(BookedPayment {
        stream_id: StreamId::from_bytes(row.get(0).during(DURING)?),
        record: PaymentRecord {
            kind,
            status,
            amount: row.get(3).during(DURING)?,
            settled: row.get(4).during(DURING)?,
            fee: row.get(5).during(DURING)?,
            description: row.get(6).during(DURING)?,
            reference: row.get(7).during(DURING)?,
            payment_hash: row.get::<_, Option<[u8; 32]>>(8).during(DURING)?.map(PaymentHash::from_bytes),
            price: row.get(12).during(DURING)?,
            refund_of: row.get::<_, Option<[u8; 16]>>(11).during(DURING)?.map(StreamId::from_bytes),
        },
        created_at: time(9)?,
        changed_at: time(10)?,
    })
}

/// See [`Store::refunded`](usher_engine::ports::Store::refunded).
pub(crate) fn refunded(connection: &Connection, payment: StreamId) -> Result<u64, SqliteFailure> {
    const DURING: &str = "sum up what is refunded";
    connection
        .prepare_cached(
            "SELECT coalesce(sum(amount), 0) FROM payment_records WHERE refund_of = ?1 AND status <> 'not_paid'",
        )
        .during(DURING)?
        .query_row([payment.as_bytes()], |row| row.get(0))
        .during(DURING)
}

/// See [`Store::is_paid`](usher_engine::ports::Store::is_paid).
pub(crate) fn is_paid(connection: &Connection, hash: PaymentHash) -> Result<bool, SqliteFailure> {
    const DURING: &str = "look for a paid invoice";
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM payment_records WHERE payment_hash = ?1 AND status = 'paid')")
        .during(DURING)?
        .query_row([hash.as_bytes()], |row| row.get(0))
        .during(DURING)
}

/// See [`Store::forget_payment_records`](usher_engine::ports::Store::forget_payment_records).
pub(crate) fn forget(connection: &Connection, before: UnixMillis, limit: usize) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove old payments from the books";
    connection
        .prepare_cached(
            "DELETE FROM payment_records WHERE stream IN (
                 SELECT stream FROM payment_records WHERE changed_at < ?1 AND status <> 'open'
                 ORDER BY changed_at LIMIT ?2)",
        )
        .during(DURING)?
        .execute(params![codec::time(before), codec::limit(limit)])
        .during(DURING)
}
