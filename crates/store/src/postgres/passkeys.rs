//! Passkeys with which users log in.

use std::collections::BTreeMap;

use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{Passkey, PasskeyChange, PasskeyCredential};
use usher_protocol::PublicKey;

use super::columns;
use super::failure::PostgresFailure;
use super::query::{Query, list};
use crate::codec;

pub(super) const READ: &str =
    "SELECT credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at
    FROM passkeys WHERE credential_id = $1";

pub(super) const COUNT: &str =
    "SELECT (SELECT count(*) FROM passkeys), (SELECT count(*) FROM passkeys WHERE main_key = $1)";

pub(super) const FORGET: &str = "DELETE FROM passkeys WHERE main_key = $1";

pub(super) const FORGET_UNUSED: &str = "DELETE FROM passkeys WHERE credential_id IN (
    SELECT credential_id FROM passkeys WHERE used_at = created_at AND created_at < $1 LIMIT $2)";

/// The statements for passkeys that were registered or used, each at a time.
pub(super) fn changes(changes: &[(PasskeyChange, UnixMillis)], queries: &mut Vec<Query>) {
    const ADD: &str = "INSERT INTO passkeys
            (credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at)
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[],
            $7::bigint[], $8::bigint[])
        ON CONFLICT (credential_id) DO NOTHING";
    const USE: &str = "UPDATE passkeys SET state = n.state, used_at = n.used_at
        FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS n (credential_id, state, used_at)
        WHERE passkeys.credential_id = n.credential_id";
    let added = || {
        changes.iter().filter_map(|(change, _)| match change {
            PasskeyChange::Add(passkey) => Some(&**passkey),
            PasskeyChange::Use { .. } => None,
        })
    };
    if added().next().is_some() {
        let columns = vec![
            list(added().map(|passkey| &*passkey.credential.id)),
            list(added().map(|passkey| passkey.main_key.as_bytes())),
            list(added().map(|passkey| &*passkey.credential.user_handle)),
            list(added().map(|passkey| &*passkey.credential.public_key)),
            list(added().map(|passkey| &*passkey.credential.state)),
            list(added().map(|passkey| passkey.wrapped_key.clone())),
            list(added().map(|passkey| codec::time(passkey.created_at))),
            list(added().map(|passkey| codec::time(passkey.used_at))),
        ];
        queries.push(Query::new("keep passkeys", ADD, columns));
    }
    // The last use of each.
    let used: BTreeMap<&[u8], (&[u8], UnixMillis)> = changes
        .iter()
        .filter_map(|(change, at)| match change {
            PasskeyChange::Use { credential_id, state } => Some((&**credential_id, (&**state, *at))),
            PasskeyChange::Add(_) => None,
        })
        .collect();
    if !used.is_empty() {
        let columns = vec![
            list(used.keys().copied()),
            list(used.values().map(|(state, _)| *state)),
            list(used.values().map(|(_, at)| codec::time(*at))),
        ];
        queries.push(Query::new("note uses of passkeys", USE, columns));
    }
}

pub(super) fn read(row: &Row) -> Result<Passkey, PostgresFailure> {
    Ok(Passkey {
        credential: PasskeyCredential {
            id: columns::get(row, 0)?,
            user_handle: columns::get(row, 2)?,
            public_key: columns::get(row, 3)?,
            state: columns::get(row, 4)?,
        },
        main_key: PublicKey::from_byte_array(columns::bytes(row, 1)?),
        wrapped_key: columns::get(row, 5)?,
        created_at: columns::time(row, 6)?,
        used_at: columns::time(row, 7)?,
    })
}
