//! The records of the OpenID Connect provider.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{
    OpenIdConsent, OpenIdGrantId, OpenIdRecord, OpenIdRecordId, OpenIdStep, OpenIdStore, OpenIdUse, StoreError,
};

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, codec, retention};

#[async_trait]
impl OpenIdStore for SqliteStore {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.write(move |connection| records.iter().try_for_each(|record| add(connection, record))).await
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        self.read(move |connection| get(connection, id)).await
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdUse, StoreError> {
        self.write(move |connection| use_once(connection, &step)).await
    }

    async fn remove_openid_record(&self, id: OpenIdRecordId) -> Result<(), StoreError> {
        self.write(move |connection| {
            connection
                .prepare_cached("DELETE FROM openid_records WHERE id = ?1")
                .and_then(|mut statement| statement.execute([id.0]))
                .during("remove a record of the OpenID Connect provider")
                .map(|_| ())
        })
        .await
    }

    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError> {
        let (client_id, subject) = (client_id.to_owned(), subject.to_owned());
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT client_id, subject, scopes, at FROM openid_consents WHERE client_id = ?1 AND subject = ?2",
                )
                .and_then(|mut statement| statement.query_row([&client_id, &subject], stored_consent).optional())
                .during("read a consent")
        })
        .await
    }

    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError> {
        let is_first_page = after.is_none();
        let (client_id, subject) = after.unwrap_or_default();
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT client_id, subject, scopes, at FROM openid_consents
                     WHERE ?1 OR (client_id, subject) > (?2, ?3) ORDER BY client_id, subject LIMIT ?4",
                )
                .and_then(|mut statement| {
                    let limit = codec::limit(limit);
                    statement.query_map(params![is_first_page, client_id, subject, limit], stored_consent)?.collect()
                })
                .during("list consents")
        })
        .await
    }

    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError> {
        let (client_id, subject) = (client_id.to_owned(), subject.to_owned());
        self.write(move |connection| revoke(connection, &client_id, &subject)).await
    }

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_openid_records(connection, before, limit)).await
    }
}

fn add(connection: &Connection, record: &OpenIdRecord) -> Result<(), SqliteFailure> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO openid_records (id, grant_id, client_id, subject, data, expires_at, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                record.id.0,
                record.grant,
                record.client_id,
                record.subject,
                record.data,
                codec::time(record.expires_at),
                record.used,
            ])
        })
        .during("store a record of the OpenID Connect provider")
        .map(|_| ())
}

fn get(connection: &Connection, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, SqliteFailure> {
    const DURING: &str = "read a record of the OpenID Connect provider";
    connection
        .prepare_cached("SELECT grant_id, client_id, subject, data, expires_at, used FROM openid_records WHERE id = ?1")
        .during(DURING)?
        .query_row([id.0], |row| Ok(stored(row, id, DURING)))
        .optional()
        .during(DURING)?
        .transpose()
}

/// What a row holds: `grant_id`, `client_id`, `subject`, `data`, `expires_at` and `used`, from the first column on.
pub(crate) fn stored(row: &Row<'_>, id: OpenIdRecordId, during: &'static str) -> Result<OpenIdRecord, SqliteFailure> {
    let data: String = row.get(3).during(during)?;
    if !codec::is_json(&data) {
        return Err(SqliteFailure::Unreadable("a record of the OpenID Connect provider"));
    }
    Ok(OpenIdRecord {
        id,
        grant: row.get(0).during(during)?,
        client_id: row.get(1).during(during)?,
        subject: row.get(2).during(during)?,
        data,
        expires_at: UnixMillis(row.get(4).during(during)?),
        used: row.get(5).during(during)?,
    })
}

pub(crate) fn stored_consent(row: &Row<'_>) -> rusqlite::Result<OpenIdConsent> {
    Ok(OpenIdConsent { client_id: row.get(0)?, subject: row.get(1)?, scopes: row.get(2)?, at: UnixMillis(row.get(3)?) })
}

fn use_once(connection: &Connection, step: &OpenIdStep) -> Result<OpenIdUse, SqliteFailure> {
    const DURING: &str = "use a record of the OpenID Connect provider";
    let found: Option<(Option<OpenIdGrantId>, bool)> = connection
        .prepare_cached("SELECT grant_id, used FROM openid_records WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([step.id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .during(DURING)?;
    match found {
        None => return Ok(OpenIdUse::Unknown),
        Some((grant, true)) => {
            if let Some(grant) = grant {
                connection
                    .prepare_cached("DELETE FROM openid_records WHERE grant_id = ?1")
                    .and_then(|mut statement| statement.execute([grant]))
                    .during(DURING)?;
            }
            return Ok(OpenIdUse::UsedBefore);
        }
        Some((_, false)) => {}
    }
    connection
        .prepare_cached("UPDATE openid_records SET used = TRUE WHERE id = ?1")
        .and_then(|mut statement| statement.execute([step.id.0]))
        .during(DURING)?;
    for record in &step.add {
        add(connection, record)?;
    }
    if let Some(consent) = &step.consent {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO openid_consents (client_id, subject, scopes, at) VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut statement| {
                let at = codec::time(consent.at);
                statement.execute(params![consent.client_id, consent.subject, consent.scopes, at])
            })
            .during(DURING)?;
    }
    Ok(OpenIdUse::Done)
}

fn revoke(connection: &Connection, client_id: &str, subject: &str) -> Result<bool, SqliteFailure> {
    const DURING: &str = "revoke a consent";
    connection
        .prepare_cached("DELETE FROM openid_records WHERE client_id = ?1 AND subject = ?2")
        .and_then(|mut statement| statement.execute([client_id, subject]))
        .during(DURING)?;
    connection
        .prepare_cached("DELETE FROM openid_consents WHERE client_id = ?1 AND subject = ?2")
        .and_then(|mut statement| statement.execute([client_id, subject]))
        .during(DURING)
        .map(|removed| removed == 1)
}
