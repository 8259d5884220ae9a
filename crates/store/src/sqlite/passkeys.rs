//! Passkeys with which users log in.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{Passkey, PasskeyChange, PasskeyCount, PasskeyCredential};
use usher_protocol::PublicKey;

use super::failure::{During as _, SqliteFailure};
use crate::codec;

/// A passkey was registered or used, at this time.
pub(crate) fn change(connection: &Connection, change: &PasskeyChange, at: UnixMillis) -> Result<(), SqliteFailure> {
    const DURING: &str = "keep a passkey";
    match change {
        PasskeyChange::Add(passkey) => {
            let Passkey { credential, main_key, wrapped_key, created_at, used_at } = &**passkey;
            connection
                .prepare_cached(
                    "INSERT INTO passkeys
                         (credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (credential_id) DO NOTHING",
                )
                .during(DURING)?
                .execute(params![
                    credential.id,
                    main_key.as_bytes(),
                    credential.user_handle,
                    credential.public_key,
                    credential.state,
                    wrapped_key,
                    codec::time(*created_at),
                    codec::time(*used_at)
                ])
        }
        PasskeyChange::Use { credential_id, state } => connection
            .prepare_cached("UPDATE passkeys SET state = ?2, used_at = ?3 WHERE credential_id = ?1")
            .during(DURING)?
            .execute(params![credential_id, state, codec::time(at)]),
    }
    .during(DURING)
    .map(|_| ())
}

/// See [`Store::passkey`](usher_engine::ports::Store::passkey).
pub(crate) fn read(connection: &Connection, credential_id: &[u8]) -> Result<Option<Passkey>, SqliteFailure> {
    const DURING: &str = "read a passkey";
    connection
        .prepare_cached(
            "SELECT credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at
             FROM passkeys WHERE credential_id = ?1",
        )
        .during(DURING)?
        .query_row([credential_id], passkey)
        .optional()
        .during(DURING)
}

/// A row of the columns as [`read`] names them.
pub(crate) fn passkey(row: &Row<'_>) -> rusqlite::Result<Passkey> {
    let time = |column| row.get(column).map(UnixMillis);
    Ok(Passkey {
        credential: PasskeyCredential {
            id: row.get(0)?,
            user_handle: row.get(2)?,
            public_key: row.get(3)?,
            state: row.get(4)?,
        },
        main_key: PublicKey::from_byte_array(row.get(1)?),
        wrapped_key: row.get(5)?,
        created_at: time(6)?,
        used_at: time(7)?,
    })
}

/// See [`Store::passkey_count`](usher_engine::ports::Store::passkey_count).
pub(crate) fn count(connection: &Connection, main_key: &PublicKey) -> Result<PasskeyCount, SqliteFailure> {
    const DURING: &str = "count passkeys";
    connection
        .prepare_cached("SELECT (SELECT count(*) FROM passkeys), (SELECT count(*) FROM passkeys WHERE main_key = ?1)")
        .during(DURING)?
        .query_row([main_key.as_bytes()], |row| Ok(PasskeyCount { in_all: row.get(0)?, of_user: row.get(1)? }))
        .during(DURING)
}

/// See [`Store::forget_passkeys`](usher_engine::ports::Store::forget_passkeys).
pub(crate) fn forget(connection: &Connection, main_key: &PublicKey) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove a user's passkeys";
    connection
        .prepare_cached("DELETE FROM passkeys WHERE main_key = ?1")
        .during(DURING)?
        .execute([main_key.as_bytes()])
        .during(DURING)
}

/// See [`Store::forget_unused_passkeys`](usher_engine::ports::Store::forget_unused_passkeys).
pub(crate) fn forget_unused(connection: &Connection, before: UnixMillis, limit: usize) -> Result<usize, SqliteFailure> {
    const UNUSED: &str = "DELETE FROM passkeys WHERE credential_id IN (
        SELECT credential_id FROM passkeys WHERE used_at = created_at AND created_at < ?1 LIMIT ?2)";
    super::retention::forget(connection, UNUSED, before, limit, "remove unused passkeys")
}
