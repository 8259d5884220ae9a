//! The records of the OpenID Connect provider.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdConsent, OldOpenIdRecord, OpenIdConsent, OpenIdExcess, OpenIdGrantId, OpenIdQuota, OpenIdRecord,
    OpenIdRecordId, OpenIdStep, OpenIdStepResult, OpenIdStore, StoreError,
};

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, retention};
use crate::codec;

#[async_trait]
impl OpenIdStore for SqliteStore {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.write(move |connection| records.iter().try_for_each(|record| add(connection, record))).await
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        self.read(move |connection| get(connection, id)).await
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError> {
        self.write(move |connection| use_once(connection, &step)).await
    }

    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError> {
        self.write(move |connection| ids.iter().try_for_each(|id| remove(connection, *id))).await
    }

    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError> {
        let visitor = visitor.map(str::to_owned);
        self.read(move |connection| records_over(connection, quota, visitor.as_deref(), most, skip, limit)).await
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

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError> {
        self.write(move |connection| retention::remove_openid_records(connection, before, limit)).await
    }
}

fn add(connection: &Connection, record: &OpenIdRecord) -> Result<(), SqliteFailure> {
    // No `INSERT OR REPLACE`: what that removes, no trigger counts.
    remove(connection, record.id)?;
    connection
        .prepare_cached(
            "INSERT INTO openid_records
                 (id, grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
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
                quota_code(record.quota),
                record.visitor,
                codec::integer(record.bytes),
            ])
        })
        .during("store a record of the OpenID Connect provider")
        .map(|_| ())
}

fn remove(connection: &Connection, id: OpenIdRecordId) -> Result<(), SqliteFailure> {
    connection
        .prepare_cached("DELETE FROM openid_records WHERE id = ?1")
        .and_then(|mut statement| statement.execute([id.0]))
        .during("remove a record of the OpenID Connect provider")
        .map(|_| ())
}

const fn quota_code(quota: OpenIdQuota) -> u8 {
    match quota {
        OpenIdQuota::Requests => 0,
        OpenIdQuota::Grants => 1,
    }
}

/// Under which the bytes of all visitors are counted.
const ALL: &str = "*";

/// Of the network that has the most, as wide as [`OpenIdRecord::WIDEST`], then [`OpenIdRecord::WIDE`], then as it is listed.
const OLDEST_OF_LARGEST: &str =
    "SELECT id, data, bytes, visitor FROM openid_records INDEXED BY openid_records_oldest_of
     WHERE quota = ?1 AND visitor = (
         SELECT visitor FROM openid_sizes WHERE quota = ?1 AND visitor <> '*' AND substr(visitor, 1, 40) = (
            SELECT substr(visitor, 1, 40) FROM openid_sizes
            WHERE quota = ?1 AND visitor <> '*' AND substr(visitor, 1, 24) = (
                SELECT substr(visitor, 1, 24) FROM openid_sizes WHERE quota = ?1 AND visitor <> '*'
                GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
            ) GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
        ) ORDER BY bytes DESC, visitor DESC LIMIT 1
     ) ORDER BY used DESC, rowid LIMIT ?2 OFFSET ?3";

const OLDEST_OF: &str = "SELECT id, data, bytes, visitor FROM openid_records INDEXED BY openid_records_oldest_of
     WHERE quota = ?1 AND visitor = ?4 ORDER BY used DESC, rowid LIMIT ?2 OFFSET ?3";

fn records_over(
    connection: &Connection,
    quota: OpenIdQuota,
    visitor: Option<&str>,
    most: u64,
    skip: usize,
    limit: usize,
) -> Result<OpenIdExcess, SqliteFailure> {
    const DURING: &str = "bound the records of the OpenID Connect provider";
    let quota = quota_code(quota);
    let bytes: i64 = connection
        .prepare_cached("SELECT bytes FROM openid_sizes WHERE quota = ?1 AND visitor = ?2")
        .and_then(|mut statement| {
            statement.query_row(params![quota, visitor.unwrap_or(ALL)], |row| row.get(0)).optional()
        })
        .during(DURING)?
        .unwrap_or_default();
    let bytes = u64::try_from(bytes).unwrap_or_default().saturating_sub(most);
    if bytes == 0 {
        return Ok(OpenIdExcess::default());
    }
    let mut statement = connection.prepare_cached(visitor.map_or(OLDEST_OF_LARGEST, |_| OLDEST_OF)).during(DURING)?;
    let (limit, skip) = (codec::limit(limit), codec::limit(skip));
    let old = |row: &Row<'_>| {
        let id = OpenIdRecordId(row.get(0)?);
        Ok(OldOpenIdRecord { id, data: row.get(1).unwrap_or_default(), bytes: row.get(2)?, visitor: row.get(3)? })
    };
    let rows = match visitor {
        None => statement.query_map(params![quota, limit, skip], old),
        Some(visitor) => statement.query_map(params![quota, limit, skip, visitor], old),
    };
    let oldest = rows.and_then(Iterator::collect).during(DURING)?;
    Ok(OpenIdExcess { bytes, oldest })
}

fn get(connection: &Connection, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, SqliteFailure> {
    const DURING: &str = "read a record of the OpenID Connect provider";
    connection
        .prepare_cached(
            "SELECT grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes FROM openid_records
             WHERE id = ?1",
        )
        .during(DURING)?
        .query_row([id.0], |row| Ok(stored(row, id, DURING)))
        .optional()
        .during(DURING)?
        .transpose()
}

/// What a row holds: `grant_id`, `client_id`, `subject`, `data`, `expires_at`, `used`, `quota`, `visitor` and `bytes`, from the first
/// column on.
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
        quota: if row.get(6).during(during)? { OpenIdQuota::Grants } else { OpenIdQuota::Requests },
        visitor: row.get(7).during(during)?,
        bytes: row.get(8).during(during)?,
    })
}

pub(crate) fn stored_consent(row: &Row<'_>) -> rusqlite::Result<OpenIdConsent> {
    Ok(OpenIdConsent { client_id: row.get(0)?, subject: row.get(1)?, scopes: row.get(2)?, at: UnixMillis(row.get(3)?) })
}

fn use_once(connection: &Connection, step: &OpenIdStep) -> Result<OpenIdStepResult, SqliteFailure> {
    const DURING: &str = "use a record of the OpenID Connect provider";
    let found: Option<(Option<OpenIdGrantId>, bool, Option<i64>)> = connection
        .prepare_cached("SELECT grant_id, used, used_at FROM openid_records WHERE id = ?1")
        .and_then(|mut statement| {
            statement.query_row([step.id.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })
        .during(DURING)?;
    match found {
        None => return Ok(OpenIdStepResult::Unknown),
        Some((_, true, Some(used_at))) if codec::time(step.at.minus(step.grace)) < used_at => {
            return Ok(OpenIdStepResult::UsedJustNow);
        }
        Some((grant, true, _)) => {
            if let Some(grant) = grant {
                connection
                    .prepare_cached("DELETE FROM openid_records WHERE grant_id = ?1")
                    .and_then(|mut statement| statement.execute([grant]))
                    .during(DURING)?;
            }
            return Ok(OpenIdStepResult::Replayed);
        }
        Some((_, false, _)) => {}
    }
    connection
        .prepare_cached("UPDATE openid_records SET used = TRUE, used_at = ?2 WHERE id = ?1")
        .and_then(|mut statement| statement.execute(params![step.id.0, codec::time(step.at)]))
        .during(DURING)?;
    for record in &step.add {
        add(connection, record)?;
    }
    if let Some(new) = &step.consent {
        agree(connection, new)?;
    }
    Ok(OpenIdStepResult::Done)
}

const OLD_CONSENTS: &str = "DELETE FROM openid_consents WHERE (client_id, subject) IN (
     SELECT client_id, subject FROM openid_consents INDEXED BY openid_consents_oldest
     ORDER BY at DESC LIMIT -1 OFFSET ?1)";

const OLD_CONSENTS_OF: &str = "DELETE FROM openid_consents WHERE (client_id, subject) IN (
     SELECT client_id, subject FROM openid_consents INDEXED BY openid_consents_oldest_of WHERE visitor = ?2
     ORDER BY at DESC LIMIT -1 OFFSET ?1)";

fn agree(connection: &Connection, new: &NewOpenIdConsent) -> Result<(), SqliteFailure> {
    const DURING: &str = "store a consent";
    let NewOpenIdConsent { consent, visitor, most_of_visitor, most } = new;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO openid_consents (client_id, subject, scopes, at, visitor) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut statement| {
            let at = codec::time(consent.at);
            statement.execute(params![consent.client_id, consent.subject, consent.scopes, at, visitor])
        })
        .during(DURING)?;
    connection
        .prepare_cached(OLD_CONSENTS_OF)
        .and_then(|mut statement| statement.execute(params![codec::limit(*most_of_visitor), visitor]))
        .during(DURING)?;
    connection
        .prepare_cached(OLD_CONSENTS)
        .and_then(|mut statement| statement.execute([codec::limit(*most)]))
        .during(DURING)?;
    Ok(())
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
