//! The books: payments that the service received or made.

use std::collections::BTreeMap;

use tokio_postgres::Row;
use usher_engine::ports::{BookedPayment, PaymentFilter, PaymentKind, PaymentRecord, PaymentRecordStatus};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;

use super::columns;
use super::failure::PostgresFailure;
use super::query::{Param, Query, list, params};
use crate::codec::{self, Unreadable};

/// The payment's row after the last commit of a group, and the time of the first and of the last that changed it.
pub(super) type Entries = BTreeMap<StreamId, (PaymentRecord, UnixMillis, UnixMillis)>;

const PUT: &str = "INSERT INTO payment_records
        (stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at,
            refund_of, price)
    SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::text[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bytea[], $13::text[])
    ON CONFLICT (stream) DO UPDATE SET status = excluded.status, settled = excluded.settled, fee = excluded.fee,
        payment_hash = excluded.payment_hash, changed_at = excluded.changed_at
    WHERE (payment_records.status, payment_records.settled, payment_records.fee, payment_records.payment_hash)
        IS DISTINCT FROM (excluded.status, excluded.settled, excluded.fee, excluded.payment_hash)";

pub(super) const LIST: &str =
    "SELECT stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at,
        refund_of, price
    FROM payment_records
    WHERE (created_at, stream) > (coalesce((SELECT created_at FROM payment_records WHERE stream = $1), -1), $1)
        AND created_at >= $2 AND created_at < $3 AND ($4::text IS NULL OR status = $4)
    ORDER BY created_at, stream LIMIT $5 OFFSET $6";

pub(super) const FIND: &str =
    "SELECT stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at,
        refund_of, price
    FROM payment_records WHERE stream = $1";

pub(super) const FORGET: &str = "DELETE FROM payment_records WHERE stream IN (
        SELECT stream FROM payment_records WHERE changed_at < $1 AND status <> 'open' ORDER BY changed_at LIMIT $2)";

/// A sum of 64-bit numbers is no such number in PostgreSQL.
pub(super) const REFUNDED: &str = "SELECT coalesce(sum(amount), 0)::bigint FROM payment_records
    WHERE refund_of = $1 AND status <> 'not_paid'";

pub(super) const PAID: &str = "SELECT 1 FROM payment_records WHERE payment_hash = $1 AND status = 'paid' LIMIT 1";

/// What the books say about this payment from now on.
pub(super) fn enter(entries: &mut Entries, stream: StreamId, record: &PaymentRecord, at: UnixMillis) {
    let entry = entries.entry(stream).or_insert_with(|| (record.clone(), at, at));
    if entry.0 != *record {
        (entry.0, entry.2) = (record.clone(), at);
    }
}

/// The statement for these entries.
pub(super) fn put(entries: &Entries) -> Query {
    let records = || entries.values().map(|(record, ..)| record);
    let columns = vec![
        list(entries.keys().map(StreamId::as_bytes)),
        list(records().map(|record| record.kind.as_str())),
        list(records().map(|record| record.status.as_str())),
        list(records().map(|record| codec::integer(record.amount))),
        list(records().map(|record| record.settled.map(codec::integer))),
        list(records().map(|record| record.fee.map(codec::integer))),
        list(records().map(|record| &*record.description)),
        list(records().map(|record| record.reference.as_deref())),
        list(records().map(|record| record.payment_hash.map(|hash| hash.as_bytes().to_vec()))),
        list(entries.values().map(|(_, created_at, _)| codec::time(*created_at))),
        list(entries.values().map(|(.., changed_at)| codec::time(*changed_at))),
        list(records().map(|record| record.refund_of.map(|payment| payment.as_bytes().to_vec()))),
        list(records().map(|record| record.price.as_deref())),
    ];
    Query::new("enter payments into the books", PUT, columns)
}

/// The parameters of [`LIST`] but the last two.
pub(super) fn selection(filter: PaymentFilter, after: Option<StreamId>) -> Vec<Param> {
    params![
        codec::after_stream(after.as_ref()),
        codec::time(filter.from.unwrap_or(UnixMillis(0))),
        filter.to.map_or(i64::MAX, codec::time),
        filter.status.map(PaymentRecordStatus::as_str),
    ]
}

pub(super) fn read(row: &Row) -> Result<BookedPayment, PostgresFailure> {
    let (kind, status) = (columns::text(row, 1)?, columns::text(row, 2)?);
    Ok(BookedPayment {
        stream_id: StreamId::from_bytes(columns::bytes(row, 0)?),
        record: PaymentRecord {
            kind: PaymentKind::from_word(&kind).ok_or(Unreadable("the kind of a payment in the books"))?,
            status: PaymentRecordStatus::from_word(&status)
                .ok_or(Unreadable("the status of a payment in the books"))?,
            amount: columns::int(row, 3)?,
            settled: columns::optional_int(row, 4)?,
            fee: columns::optional_int(row, 5)?,
            description: columns::text(row, 6)?,
            reference: columns::optional_text(row, 7)?,
            payment_hash: columns::optional_bytes(row, 8)?.map(PaymentHash::from_bytes),
            price: columns::optional_text(row, 12)?,
            refund_of: columns::optional_bytes(row, 11)?.map(StreamId::from_bytes),
        },
        created_at: columns::time(row, 9)?,
        changed_at: columns::time(row, 10)?,
    })
}
