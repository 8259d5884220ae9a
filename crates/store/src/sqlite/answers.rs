//! Answers to calls: kept by themselves or in a commit.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{Answer, AnswerKey, AnswerStore, KeepAnswer, StoreError};

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, codec, retention};

#[async_trait]
impl AnswerStore for SqliteStore {
    async fn answer(&self, key: &AnswerKey) -> Result<Option<Answer>, StoreError> {
        let key = *key;
        self.read(move |connection| get(connection, key)).await
    }

    async fn keep_answer(&self, answer: KeepAnswer) -> Result<bool, StoreError> {
        self.write(move |connection| Ok(keep(connection, &answer)? == 1)).await
    }

    async fn forget_answers(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::forget_answers(connection, before, limit)).await
    }
}

fn get(connection: &Connection, key: AnswerKey) -> Result<Option<Answer>, SqliteFailure> {
    const DURING: &str = "read an answer";
    let found = connection
        .prepare_cached("SELECT fingerprint, at, status, media_type, body FROM answers WHERE key = ?1")
        .during(DURING)?
        .query_row([key.0], |row| Ok(stored(row, DURING)))
        .optional()
        .during(DURING)?;
    let found = found.transpose()?;
    Ok(found.map(|(fingerprint, at, status, media_type, body)| Answer {
        key,
        fingerprint,
        at,
        status,
        media_type,
        body,
    }))
}

/// What a row holds: fingerprint, time, status, media type and body.
type Stored = ([u8; 32], UnixMillis, u16, String, Vec<u8>);

/// The answer in a row that begins with its fingerprint, time, status, media type and body.
pub(crate) fn stored(row: &Row<'_>, during: &'static str) -> Result<Stored, SqliteFailure> {
    let at = row.get(1).map(UnixMillis).during(during)?;
    let (fingerprint, status) = (row.get(0).during(during)?, row.get(2).during(during)?);
    Ok((fingerprint, at, status, row.get(3).during(during)?, row.get(4).during(during)?))
}

/// Whether there is an answer under the same key that has not had its time. One with an impossible time counts as such: the
/// request may have been carried out.
pub(crate) fn is_kept(connection: &Connection, keep: &KeepAnswer) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM answers WHERE key = ?1 AND (at >= ?2 OR at < 0)")
        .and_then(|mut statement| statement.exists(params![keep.answer.key.0, codec::time(keep.replace_before)]))
        .during("look for an answer")
}

/// Keeps the answer unless there is one that has not had its time; says how many rows that changed, 0 or 1.
pub(crate) fn keep(connection: &Connection, keep: &KeepAnswer) -> Result<usize, SqliteFailure> {
    let answer = &keep.answer;
    connection
        .prepare_cached(
            "INSERT INTO answers (key, fingerprint, at, status, media_type, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
                 status = excluded.status, media_type = excluded.media_type, body = excluded.body
             WHERE answers.at < ?7 AND answers.at >= 0",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                answer.key.0,
                answer.fingerprint,
                codec::time(answer.at),
                answer.status,
                answer.media_type,
                answer.body,
                codec::time(keep.replace_before),
            ])
        })
        .during("keep an answer")
}
