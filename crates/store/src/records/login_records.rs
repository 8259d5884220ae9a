//! How logins ended.

use usher_engine::ports::{EndedLogin, LoginFilter, LoginPosition, LoginRecord, LoginRecordStatus, LoginSubject};
use usher_engine::{Origin, StreamId, UnixMillis};
use usher_protocol::PublicKey;

use crate::codec::{self, Unreadable};
use crate::row::Row;
use crate::statement::{Param, Query, Statement, params};

const ADD: Statement = Statement::new(
    "record how logins ended",
    "INSERT INTO login_records (at, operation, stream, origin, status, method, app, main_key, reason)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
);

const READING: &str = "read how logins ended";

pub(crate) const LIST: Statement = Statement::new(
    READING,
    "SELECT at, operation, stream, origin, status, method, app, main_key, reason FROM login_records
     WHERE (at, operation) < (?1, ?2) AND at >= ?3 ORDER BY at DESC, operation DESC LIMIT ?4 OFFSET ?5",
);

/// The last of the next records. There is no index by user or stream, which would cost every login: those of one are found
/// between this record and the first.
const LAST: Statement = Statement::new(
    READING,
    "SELECT at, operation FROM login_records WHERE (at, operation) < (?1, ?2) AND at >= ?3 AND length(operation) = 16
     ORDER BY at DESC, operation DESC LIMIT 1 OFFSET ?4",
);

macro_rules! between {
    ($columns:literal, $of:literal) => {
        Statement::new(
            READING,
            concat!(
                "SELECT ",
                $columns,
                " FROM login_records WHERE (at, operation) < (?1, ?2) AND (at, operation) >= (?3, ?4) AND ",
                $of,
                " = ?5 ORDER BY at DESC, operation DESC"
            ),
        )
    };
}

const OF_USER: Statement = between!("at, operation, stream, origin, status, method, app, main_key, reason", "main_key");
const OF_STREAM: Statement = between!("at, operation, stream, origin, status, method, app, main_key, reason", "stream");
const KEYS_OF_USER: Statement = between!("at, operation", "main_key");

pub(crate) const FORGET: Statement = Statement::new(
    "remove old records of logins",
    "DELETE FROM login_records WHERE (at, operation) IN (
         SELECT at, operation FROM login_records WHERE at < ?1 ORDER BY at LIMIT ?2)",
);

const FORGET_THESE: Statement = Statement::new(
    "remove the records of a user's logins",
    "DELETE FROM login_records WHERE at = ?1 AND operation = ?2",
)
.postgres("DELETE FROM login_records WHERE (at, operation) IN (VALUES (?1, ?2))");

/// A record to add, with the operation.
pub(crate) type NewLogin = (StreamId, Option<Origin>, UnixMillis, LoginRecord);

pub(crate) fn add(logins: &[NewLogin]) -> Query {
    ADD.each(logins.iter().map(|(operation, origin, at, record)| {
        params![
            codec::time(*at),
            operation.as_bytes(),
            record.reusable.as_ref().unwrap_or(operation).as_bytes(),
            origin.map(|origin| origin.0),
            record.status.as_str(),
            record.method.as_deref(),
            record.app.as_deref(),
            record.main_key.map(|key| *key.as_bytes()),
            record.reason.as_deref(),
        ]
    }))
}

/// The parameters of [`LIST`] except the last two.
pub(crate) fn list(filter: LoginFilter, after: Option<LoginPosition>) -> Vec<Param> {
    let (from, before, operation) = codec::newest_between(filter.from, filter.to, after);
    params![before, operation, from]
}

/// The query for the last of the next `number` records.
pub(crate) fn last(filter: LoginFilter, after: Option<LoginPosition>, number: usize) -> Query {
    let mut params = list(filter, after);
    params.push(codec::limit(number.saturating_sub(1)).into());
    LAST.with(params)
}

pub(crate) fn position(row: &Row) -> Result<LoginPosition, Unreadable> {
    Ok((row.time(0)?, StreamId::from_bytes(row.bytes(1)?)))
}

/// The query for the records of one subject up to `last`.
pub(crate) fn of(
    subject: LoginSubject,
    filter: LoginFilter,
    after: Option<LoginPosition>,
    last: Option<LoginPosition>,
) -> Query {
    let (statement, of) = match subject {
        LoginSubject::User(main_key) => (OF_USER, main_key.as_bytes().to_vec()),
        LoginSubject::Stream(stream) => (OF_STREAM, stream.as_bytes().to_vec()),
    };
    statement.with(between(filter, after, last, of))
}

/// The query for the keys of a user's records up to `last`; also of unreadable ones.
pub(crate) fn keys_of(main_key: &PublicKey, after: Option<LoginPosition>, last: Option<LoginPosition>) -> Query {
    KEYS_OF_USER.with(between(LoginFilter::default(), after, last, main_key.as_bytes().to_vec()))
}

fn between(filter: LoginFilter, after: Option<LoginPosition>, last: Option<LoginPosition>, of: Vec<u8>) -> Vec<Param> {
    let (_, before, operation) = codec::newest_between(filter.from, filter.to, after);
    let (from, first) = last.map_or_else(
        || (filter.from.map_or(i64::MIN, codec::time), Vec::new()),
        |(at, operation)| (codec::time(at), operation.as_bytes().to_vec()),
    );
    params![before, operation, from, first, of]
}

/// Removes the records in rows of [`keys_of`].
pub(crate) fn forget(keys: Vec<Vec<Param>>) -> Query {
    FORGET_THESE.each(keys)
}

pub(crate) fn key(row: &Row) -> Result<Vec<Param>, Unreadable> {
    Ok(params![row.int::<i64>(0)?, row.blob(1)?])
}

pub(crate) fn read(row: &Row) -> Result<EndedLogin, Unreadable> {
    let (position, stream) = (position(row)?, StreamId::from_bytes(row.bytes(2)?));
    Ok(EndedLogin {
        position,
        stream_id: stream,
        origin: row.optional_int(3)?.map(Origin),
        record: LoginRecord {
            reusable: Some(stream).filter(|stream| *stream != position.1),
            status: LoginRecordStatus::parse(row.text(4)?).ok_or(Unreadable("the outcome of a login"))?,
            method: row.optional_string(5)?,
            app: row.optional_string(6)?,
            main_key: row.optional_bytes(7)?.map(PublicKey::from_byte_array),
            reason: row.optional_string(8)?,
        },
    })
}
