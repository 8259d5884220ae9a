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

/// `?4` is the user or the stream.
macro_rules! list {
    ($of:literal) => {
        Statement::new(
            "read how logins ended",
            concat!(
                "SELECT at, operation, stream, origin, status, method, app, main_key, reason FROM login_records
                 WHERE (at, operation) < (?1, ?2) AND at >= ?3 AND ",
                $of,
                " ORDER BY at DESC, operation DESC LIMIT ?5 OFFSET ?6"
            ),
        )
    };
}

const LIST: Statement = list!("CAST(?4 AS bytea) IS NULL");
const OF_USER: Statement = list!("main_key = ?4");
const OF_STREAM: Statement = list!("stream = ?4");

pub(crate) const FORGET: Statement = Statement::new(
    "remove old records of logins",
    "DELETE FROM login_records WHERE (at, operation) IN (
         SELECT at, operation FROM login_records WHERE at < ?1 ORDER BY at LIMIT ?2)",
);

pub(crate) const FORGET_USER: Statement =
    Statement::new("remove the records of a user's logins", "DELETE FROM login_records WHERE main_key = ?1");

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

/// The statement, with its parameters except the last two.
pub(crate) fn list(filter: LoginFilter, after: Option<LoginPosition>) -> (Statement, Vec<Param>) {
    let (from, before, operation) = codec::newest_between(filter.from, filter.to, after);
    let (statement, of) = match filter.of {
        None => (LIST, None),
        Some(LoginSubject::User(main_key)) => (OF_USER, Some(main_key.as_bytes().to_vec())),
        Some(LoginSubject::Stream(stream)) => (OF_STREAM, Some(stream.as_bytes().to_vec())),
    };
    (statement, params![before, operation, from, of])
}

pub(crate) fn read(row: &Row) -> Result<EndedLogin, Unreadable> {
    let (operation, stream) = (StreamId::from_bytes(row.bytes(1)?), StreamId::from_bytes(row.bytes(2)?));
    Ok(EndedLogin {
        position: (row.time(0)?, operation),
        stream_id: stream,
        origin: row.optional_int(3)?.map(Origin),
        record: LoginRecord {
            reusable: Some(stream).filter(|stream| *stream != operation),
            status: LoginRecordStatus::parse(row.text(4)?).ok_or(Unreadable("the outcome of a login"))?,
            method: row.optional_string(5)?,
            app: row.optional_string(6)?,
            main_key: row.optional_bytes(7)?.map(PublicKey::from_byte_array),
            reason: row.optional_string(8)?,
        },
    })
}
