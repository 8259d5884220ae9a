//! Passkeys with which users log in.

use std::collections::BTreeMap;

use usher_engine::UnixMillis;
use usher_engine::ports::{Passkey, PasskeyChange, PasskeyCredential};
use usher_protocol::PublicKey;

use crate::codec::{self, Unreadable};
use crate::row::Row;
use crate::statement::{Query, Statement, params};

pub(crate) const READ: Statement = Statement::new(
    "read a passkey",
    "SELECT credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at
     FROM passkeys WHERE credential_id = ?1",
);

/// The number of all passkeys, and of a user's.
pub(crate) const COUNT: Statement = Statement::new(
    "count passkeys",
    "SELECT (SELECT count(*) FROM passkeys), (SELECT count(*) FROM passkeys WHERE main_key = ?1)",
);

pub(crate) const FORGET: Statement =
    Statement::new("remove a user's passkeys", "DELETE FROM passkeys WHERE main_key = ?1");

pub(crate) const FORGET_UNUSED: Statement = Statement::new(
    "remove unused passkeys",
    "DELETE FROM passkeys WHERE credential_id IN (
         SELECT credential_id FROM passkeys WHERE used_at = created_at AND created_at < ?1 LIMIT ?2)",
);

const ADD: Statement = Statement::new(
    "keep passkeys",
    "INSERT INTO passkeys
         (credential_id, main_key, user_handle, public_key, state, wrapped_key, created_at, used_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (credential_id) DO NOTHING",
);

const USE: Statement = Statement::new(
    "note uses of passkeys",
    "WITH n (credential_id, state, used_at) AS (VALUES (?1, ?2, ?3))
     UPDATE passkeys SET state = n.state, used_at = n.used_at FROM n WHERE passkeys.credential_id = n.credential_id",
);

/// The statements for registered or used passkeys, with their times.
pub(crate) fn changes(changes: &[(PasskeyChange, UnixMillis)]) -> [Query; 2] {
    let added = changes.iter().filter_map(|(change, _)| match change {
        PasskeyChange::Add(passkey) => Some(&**passkey),
        PasskeyChange::Use { .. } => None,
    });
    let added = added.map(|Passkey { credential, main_key, wrapped_key, created_at, used_at }| {
        params![
            &*credential.id,
            main_key.as_bytes(),
            &*credential.user_handle,
            &*credential.public_key,
            &*credential.state,
            wrapped_key.clone(),
            codec::time(*created_at),
            codec::time(*used_at),
        ]
    });
    // The last use of each.
    let used: BTreeMap<&[u8], (&[u8], UnixMillis)> = changes
        .iter()
        .filter_map(|(change, at)| match change {
            PasskeyChange::Use { credential_id, state } => Some((&**credential_id, (&**state, *at))),
            PasskeyChange::Add(_) => None,
        })
        .collect();
    let used = used.into_iter().map(|(id, (state, at))| params![id, state, codec::time(at)]);
    [ADD.each(added), USE.each(used)]
}

pub(crate) fn read(row: &Row) -> Result<Passkey, Unreadable> {
    let blob = |column| row.blob(column).map(<[u8]>::to_vec);
    Ok(Passkey {
        credential: PasskeyCredential { id: blob(0)?, user_handle: blob(2)?, public_key: blob(3)?, state: blob(4)? },
        main_key: PublicKey::from_byte_array(row.bytes(1)?),
        wrapped_key: row.optional_blob(5)?.map(<[u8]>::to_vec),
        created_at: row.time(6)?,
        used_at: row.time(7)?,
    })
}
