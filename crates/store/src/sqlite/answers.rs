//! Answers to calls: kept by themselves or in a commit.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
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
    connection
        .prepare_cached("SELECT fingerprint, at, status, media_type, body FROM answers WHERE key = ?1")
        .during(DURING)?
        .query_row([key.0], |row| {
            Ok(Answer {
                key,
                fingerprint: row.get(0)?,
                at: UnixMillis(row.get(1)?),
                status: row.get(2)?,
                media_type: row.get(3)?,
                body: row.get(4)?,
            })
        })
        .optional()
        .during(DURING)
}

/// Whether there is an answer under the same key that has not had its time.
pub(crate) fn is_kept(connection: &Connection, keep: &KeepAnswer) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM answers WHERE key = ?1 AND at >= ?2")
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
             WHERE answers.at < ?7",
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
