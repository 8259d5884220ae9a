//! The books: payments that the service received or made.

use std::collections::BTreeMap;

use usher_engine::ports::{
    BookedPayment, PaymentFilter, PaymentKind, PaymentPosition, PaymentRecord, PaymentRecordStatus, PaymentSearch,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;

use crate::codec::{self, Unreadable};
use crate::row::Row;
use crate::statement::{Param, Query, Statement, params};

/// The payment's record after the last commit of a group, and the times of its first and last change.
pub(crate) type Entries = BTreeMap<StreamId, (PaymentRecord, UnixMillis, UnixMillis)>;

const PUT: Statement = Statement::new(
    "enter payments into the books",
    "INSERT INTO payment_records
         (stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at, changed_at,
          refund_of, price)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
     ON CONFLICT (stream) DO UPDATE SET status = excluded.status, amount = excluded.amount, settled = excluded.settled,
         fee = excluded.fee, payment_hash = excluded.payment_hash, price = excluded.price,
         changed_at = excluded.changed_at
     WHERE (payment_records.status, payment_records.settled, payment_records.fee, payment_records.payment_hash)
         IS DISTINCT FROM (excluded.status, excluded.settled, excluded.fee, excluded.payment_hash)",
);

/// The columns for [`read`].
macro_rules! select {
    ($($from:literal),+) => {
        concat!(
            "SELECT stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at,
                 changed_at, refund_of, price
             FROM payment_records ",
            $($from),+
        )
    };
}

/// The same, of open payments: those of open operations, without the kinds of logins, of which there may be many.
macro_rules! select_open {
    ($($from:literal),+) => {
        concat!(
            "WITH open AS MATERIALIZED (
                 SELECT p.* FROM operations AS o INDEXED BY operations_open CROSS JOIN payment_records AS p
                 WHERE o.finished_at IS NULL AND o.kind NOT IN (1, 2, 12) AND p.stream = o.id AND p.status = 'open')
             SELECT stream, kind, status, amount, settled, fee, description, reference, payment_hash, created_at,
                 changed_at, refund_of, price
             FROM open ",
            $($from),+
        )
    };
}

/// SQLite uses one lower bound of an index: the position has the time from which payments are wanted, too.
macro_rules! list {
    ($select:ident, $status:literal) => {
        Statement::new(
            "read the books",
            $select!(
                "WHERE (created_at, stream) > (
                         coalesce((SELECT created_at FROM payment_records WHERE stream = ?1 AND created_at >= ?2), ?2),
                         CASE WHEN EXISTS (SELECT 1 FROM payment_records WHERE stream = ?1 AND created_at >= ?2)
                             THEN ?1 ELSE coalesce(substr(?1, 1, 0), ?1) END)
                     AND created_at < ?3 AND ",
                $status,
                " AND (CAST(?5 AS text) IS NULL OR (kind IN ('payment', 'charge')) = (CAST(?5 AS text) = 'in'))
                 ORDER BY created_at, stream LIMIT ?6 OFFSET ?7"
            ),
        )
    };
}

const LIST: Statement = list!(select, "(CAST(?4 AS text) IS NULL OR status = ?4)");
const LIST_OPEN: Statement = list!(select_open, "status = ?4");
/// With the index of these: there may be few.
const LIST_NOT_PAID: Statement = list!(select, "status = ?4 AND status IN ('not_paid', 'unknown')");

const NEWEST: Statement = Statement::new(
    "search the books",
    select!(
        "WHERE (created_at, stream) < (?1, ?2) AND created_at >= ?3
         ORDER BY created_at DESC, stream DESC LIMIT ?4 OFFSET ?5"
    ),
);

const NEWEST_OPEN: Statement = Statement::new(
    "search the books",
    select_open!(
        "WHERE (created_at, stream) < (?1, ?2) AND created_at >= ?3 ORDER BY created_at DESC, stream DESC LIMIT ?4 OFFSET ?5"
    ),
);

/// As [`LIST_NOT_PAID`].
const NEWEST_NOT_PAID: Statement = Statement::new(
    "search the books",
    select!(
        "WHERE (created_at, stream) < (?1, ?2) AND created_at >= ?3 AND status = ?4 AND status IN ('not_paid', 'unknown')
         ORDER BY created_at DESC, stream DESC LIMIT ?5 OFFSET ?6"
    ),
);

/// Of a reference, no more rows are read than needed.
const NEWEST_WITH_KEYS: Statement = Statement::new(
    "search the books",
    select!(
        "WHERE stream IN (
             SELECT stream FROM payment_records WHERE stream = ?4
             UNION ALL SELECT stream FROM payment_records WHERE refund_of = ?4
             UNION ALL SELECT stream FROM payment_records WHERE payment_hash = ?5
             UNION ALL SELECT stream FROM (
                 SELECT stream FROM payment_records
                 WHERE reference = ?6 AND (created_at, stream) < (?1, ?2) AND created_at >= ?3
                 ORDER BY created_at DESC, stream DESC LIMIT CAST(?7 AS bigint) + CAST(?8 AS bigint)
             ) AS referring
         )
         AND (created_at, stream) < (?1, ?2) AND created_at >= ?3
         ORDER BY created_at DESC, stream DESC LIMIT ?7 OFFSET ?8"
    ),
);

pub(crate) const LARGE: Statement = Statement::new(
    "look for large payments",
    select!(
        "WHERE changed_at >= ?2 AND status = 'paid' AND settled > ?1 ORDER BY changed_at, stream LIMIT ?3 OFFSET ?4"
    ),
);

pub(crate) const FIND: Statement = Statement::new("read a payment in the books", select!("WHERE stream = ?1"));

pub(crate) const FORGET: Statement = Statement::new(
    "remove old payments from the books",
    "DELETE FROM payment_records WHERE stream IN (
         SELECT stream FROM payment_records WHERE changed_at < ?1 AND status <> 'open' ORDER BY changed_at LIMIT ?2)",
);

pub(crate) const REFUNDED: Statement = Statement::new(
    "sum up what is refunded",
    "SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM payment_records
     WHERE refund_of = ?1 AND status <> 'not_paid'",
);

pub(crate) const PAID: Statement = Statement::new(
    "look for a paid invoice",
    "SELECT 1 FROM payment_records WHERE payment_hash = ?1 AND status = 'paid'
     UNION ALL SELECT 1 FROM correlations WHERE key = ?2 AND until IS NOT NULL LIMIT 1",
);

/// What commits need to know of a payment in the books.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    pub(crate) status: PaymentRecordStatus,
    pub(crate) settled: Option<u64>,
    pub(crate) changed_at: UnixMillis,
}

impl Booked {
    /// The payment after a step at `at`. Once it has ended, its time stays that of its status.
    pub(crate) fn after(before: Option<Self>, record: &PaymentRecord, at: UnixMillis) -> Self {
        let ended =
            before.filter(|before| before.status == record.status && record.status != PaymentRecordStatus::Open);
        let changed_at = ended.map_or(at, |ended| ended.changed_at);
        Self { status: record.status, settled: record.settled, changed_at }
    }
}

pub(crate) const BOOKED: Statement = Statement::new(
    "read what a commit depends on",
    "SELECT stream, status, settled, changed_at FROM payment_records WHERE stream = ?1",
);

/// The payment in a row of [`BOOKED`].
pub(crate) fn booked(row: &Row) -> Result<(StreamId, Booked), Unreadable> {
    let status = PaymentRecordStatus::parse(row.text(1)?).ok_or(Unreadable("the status of a payment in the books"))?;
    let booked = Booked { status, settled: row.optional_int(2)?, changed_at: row.time(3)? };
    Ok((StreamId::from_bytes(row.bytes(0)?), booked))
}

pub(crate) fn enter(
    entries: &mut Entries,
    stream: StreamId,
    record: &PaymentRecord,
    at: UnixMillis,
    changed_at: UnixMillis,
) {
    let entry = entries.entry(stream).or_insert_with(|| (record.clone(), at, changed_at));
    if entry.0 != *record {
        (entry.0, entry.2) = (record.clone(), changed_at);
    }
}

pub(crate) fn put(entries: &Entries) -> Query {
    PUT.each(entries.iter().map(|(stream, (record, created_at, changed_at))| {
        params![
            stream.as_bytes(),
            record.kind.as_str(),
            record.status.as_str(),
            codec::integer(record.amount),
            record.settled.map(codec::integer),
            record.fee.map(codec::integer),
            &*record.description,
            record.reference.as_deref(),
            record.payment_hash.map(|hash| *hash.as_bytes()),
            codec::time(*created_at),
            codec::time(*changed_at),
            record.refund_of.map(|payment| *payment.as_bytes()),
            record.price.as_deref(),
        ]
    }))
}

/// The statement for a list, the oldest first, with its parameters except the last two.
pub(crate) fn list(filter: PaymentFilter, after: Option<StreamId>) -> (Statement, Vec<Param>) {
    let selection = params![
        codec::after_stream(after.as_ref()),
        codec::time(filter.from.unwrap_or(UnixMillis(0))),
        filter.to.map_or(i64::MAX, codec::time),
        filter.status.map(PaymentRecordStatus::as_str),
        filter.is_incoming.map(|is_incoming| if is_incoming { "in" } else { "out" }),
    ];
    let statement = match filter.status {
        None | Some(PaymentRecordStatus::Paid) => LIST,
        Some(PaymentRecordStatus::Open) => LIST_OPEN,
        Some(PaymentRecordStatus::NotPaid | PaymentRecordStatus::Unknown) => LIST_NOT_PAID,
    };
    (statement, selection)
}

/// The statement for a search, with its parameters except the last two.
pub(crate) fn search(
    search: &PaymentSearch,
    filter: PaymentFilter,
    before: Option<PaymentPosition>,
) -> (Statement, Vec<Param>) {
    let (from, before, stream) = codec::newest_between(filter.from, filter.to, before);
    let mut selection = params![before, stream, from];
    match search {
        PaymentSearch::All => match filter.status {
            None | Some(PaymentRecordStatus::Paid) => (NEWEST, selection),
            Some(PaymentRecordStatus::Open) => (NEWEST_OPEN, selection),
            Some(status @ (PaymentRecordStatus::NotPaid | PaymentRecordStatus::Unknown)) => {
                selection.extend(params![status.as_str()]);
                (NEWEST_NOT_PAID, selection)
            }
        },
        PaymentSearch::Keys { stream, hash, reference } => {
            let (stream, hash) = (stream.map(|stream| *stream.as_bytes()), hash.map(|hash| *hash.as_bytes()));
            selection.extend(params![stream, hash, &**reference]);
            (NEWEST_WITH_KEYS, selection)
        }
    }
}

pub(crate) fn read(row: &Row) -> Result<BookedPayment, Unreadable> {
    Ok(BookedPayment {
        stream_id: StreamId::from_bytes(row.bytes(0)?),
        record: PaymentRecord {
            kind: PaymentKind::parse(row.text(1)?).ok_or(Unreadable("the kind of a payment in the books"))?,
            status: PaymentRecordStatus::parse(row.text(2)?)
                .ok_or(Unreadable("the status of a payment in the books"))?,
            amount: row.int(3)?,
            settled: row.optional_int(4)?,
            fee: row.optional_int(5)?,
            description: row.string(6)?,
            reference: row.optional_string(7)?,
            payment_hash: row.optional_bytes(8)?.map(PaymentHash::from_bytes),
            price: row.optional_string(12)?,
            refund_of: row.optional_bytes(11)?.map(StreamId::from_bytes),
        },
        created_at: row.time(9)?,
        changed_at: row.time(10)?,
    })
}
