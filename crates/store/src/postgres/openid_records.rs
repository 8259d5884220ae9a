//! The records of the OpenID Connect provider.

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdConsent, OldOpenIdRecord, OpenIdConsent, OpenIdExcess, OpenIdQuota, OpenIdRecord, OpenIdRecordId,
    OpenIdStep, OpenIdStepResult, OpenIdStore, StoreError,
};

use super::failure::PostgresFailure;
use super::query::{Answer, Query, list, params};
use super::{PostgresStore, columns, retention};
use crate::codec;

/// Under which the bytes of all visitors are counted.
const ALL: &str = "*";

const SIZE: &str = "SELECT bytes FROM openid_sizes WHERE quota = $1 AND visitor = $2";

/// Of the network that has the most, as wide as [`OpenIdRecord::WIDEST`], then [`OpenIdRecord::WIDE`], then as it is listed.
const OLDEST_OF_LARGEST: &str = "SELECT id, data, bytes, visitor FROM openid_records
    WHERE quota = $1 AND visitor = (
        SELECT visitor FROM openid_sizes WHERE quota = $1 AND visitor <> '*' AND substr(visitor, 1, 40) = (
            SELECT substr(visitor, 1, 40) FROM openid_sizes
            WHERE quota = $1 AND visitor <> '*' AND substr(visitor, 1, 24) = (
                SELECT substr(visitor, 1, 24) FROM openid_sizes WHERE quota = $1 AND visitor <> '*'
                GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
            ) GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
        ) ORDER BY bytes DESC, visitor DESC LIMIT 1
    ) ORDER BY used DESC, seq LIMIT $2 OFFSET $3";

const OLDEST_OF: &str = "SELECT id, data, bytes, visitor FROM openid_records
    WHERE quota = $1 AND visitor = $4 ORDER BY used DESC, seq LIMIT $2 OFFSET $3";

#[async_trait]
impl OpenIdStore for PostgresStore {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.queue.blind(records.iter().flat_map(add).collect()).await
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        const GET: &str = "SELECT grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes
            FROM openid_records WHERE id = $1";
        let found = self.read("read a record of the OpenID Connect provider", GET, params![id.0]).await?;
        Ok(found.rows.first().map(|row| stored(row, id)).transpose()?)
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError> {
        const POLL_INTERVAL: &str = "SELECT grant_id, used, used_at FROM openid_records WHERE id = $1";
        let read = vec![Query::new("use a record of the OpenID Connect provider", POLL_INTERVAL, params![step.id.0])];
        self.queue.decision(read, move |read| use_once(&read, &step)).await
    }

    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError> {
        const DROP: &str = "DELETE FROM openid_records WHERE id = ANY($1::bytea[])";
        let ids = vec![list(ids.iter().map(|id| id.0))];
        self.queue.blind(vec![Query::new("remove records of the OpenID Connect provider", DROP, ids)]).await
    }

    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError> {
        const DURING: &str = "bound the records of the OpenID Connect provider";
        let quota = quota_code(quota);
        let size = self.read(DURING, SIZE, params![quota, visitor.unwrap_or(ALL)]).await?;
        let bytes: i64 = size.rows.first().map_or(Ok(0), |row| columns::get(row, 0))?;
        let bytes = u64::try_from(bytes).unwrap_or_default().saturating_sub(most);
        if bytes == 0 {
            return Ok(OpenIdExcess::default());
        }
        let page = (codec::limit(limit), codec::limit(skip));
        let oldest = match visitor {
            None => self.read(DURING, OLDEST_OF_LARGEST, params![quota, page.0, page.1]).await?,
            Some(visitor) => self.read(DURING, OLDEST_OF, params![quota, page.0, page.1, visitor]).await?,
        };
        let old = |row| {
            let id = OpenIdRecordId(columns::bytes(row, 0)?);
            Ok(OldOpenIdRecord {
                id,
                data: columns::text(row, 1).unwrap_or_default(),
                bytes: columns::int(row, 2)?,
                visitor: columns::text(row, 3)?,
            })
        };
        let oldest = oldest.rows.iter().map(old).collect::<Result<_, PostgresFailure>>()?;
        Ok(OpenIdExcess { bytes, oldest })
    }

    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError> {
        const GET: &str =
            "SELECT client_id, subject, scopes, at FROM openid_consents WHERE client_id = $1 AND subject = $2";
        let found = self.read("read a consent", GET, params![client_id, subject]).await?;
        Ok(found.rows.first().map(consent).transpose()?)
    }

    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError> {
        const LIST: &str = "SELECT client_id, subject, scopes, at FROM openid_consents
            WHERE $1 OR (client_id, subject) > ($2, $3) ORDER BY client_id, subject LIMIT $4";
        let is_first_page = after.is_none();
        let (client_id, subject) = after.unwrap_or_default();
        let page = params![is_first_page, &*client_id, &*subject, codec::limit(limit)];
        let found = self.read("list consents", LIST, page).await?;
        Ok(found.rows.iter().map(consent).collect::<Result<_, _>>()?)
    }

    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError> {
        const DURING: &str = "revoke a consent";
        const RECORDS: &str = "DELETE FROM openid_records WHERE client_id = $1 AND subject = $2";
        const CONSENT: &str = "DELETE FROM openid_consents WHERE client_id = $1 AND subject = $2";
        let queries = [RECORDS, CONSENT].map(|sql| Query::new(DURING, sql, params![client_id, subject]));
        let removed = self.queue.statements(queries.into()).await?;
        Ok(removed.last().is_some_and(|consent| consent.changed == 1))
    }

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError> {
        const DURING: &str = "remove expired records of the OpenID Connect provider";
        let query = Query::new(DURING, retention::OPENID_RECORDS, retention::bounds(before, limit));
        let removed = self.write(query).await?;
        Ok(removed.rows.iter().map(|row| columns::text(row, 0).unwrap_or_default()).collect())
    }
}

/// In place of the record with this id: it is the last one that was added, then.
fn add(record: &OpenIdRecord) -> [Query; 2] {
    const DURING: &str = "store a record of the OpenID Connect provider";
    const ADD: &str = "INSERT INTO openid_records
            (id, grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let columns = params![
        record.id.0,
        record.grant.map(Vec::from),
        record.client_id.as_deref(),
        record.subject.as_deref(),
        &*record.data,
        codec::time(record.expires_at),
        record.used,
        quota_code(record.quota),
        &*record.visitor,
        codec::integer(record.bytes),
    ];
    let removed = Query::new(DURING, "DELETE FROM openid_records WHERE id = $1", params![record.id.0]);
    [removed, Query::new(DURING, ADD, columns)]
}

const fn quota_code(quota: OpenIdQuota) -> u8 {
    match quota {
        OpenIdQuota::Requests => 0,
        OpenIdQuota::Grants => 1,
    }
}

pub(super) fn stored(row: &Row, id: OpenIdRecordId) -> Result<OpenIdRecord, PostgresFailure> {
    let data = columns::text(row, 3)?;
    if !codec::is_json(&data) {
        return Err(PostgresFailure::Unreadable("a record of the OpenID Connect provider"));
    }
    Ok(OpenIdRecord {
        id,
        grant: columns::optional_bytes(row, 0)?,
        client_id: columns::optional_text(row, 1)?,
        subject: columns::optional_text(row, 2)?,
        data,
        expires_at: columns::time(row, 4)?,
        used: columns::get(row, 5)?,
        quota: if columns::get::<i64>(row, 6)? == 0 { OpenIdQuota::Requests } else { OpenIdQuota::Grants },
        visitor: columns::text(row, 7)?,
        bytes: columns::int(row, 8)?,
    })
}

pub(super) fn consent(row: &Row) -> Result<OpenIdConsent, PostgresFailure> {
    Ok(OpenIdConsent {
        client_id: columns::text(row, 0)?,
        subject: columns::text(row, 1)?,
        scopes: columns::text(row, 2)?,
        at: columns::time(row, 3)?,
    })
}

fn use_once(read: &[Answer], step: &OpenIdStep) -> Result<(OpenIdStepResult, Vec<Query>), PostgresFailure> {
    const DURING: &str = "use a record of the OpenID Connect provider";
    const USE: &str = "UPDATE openid_records SET used = TRUE, used_at = $2 WHERE id = $1";
    const REMOVE_GRANT: &str = "DELETE FROM openid_records WHERE grant_id = $1";
    let Some(row) = read.iter().flat_map(|answer| &answer.rows).next() else {
        return Ok((OpenIdStepResult::Unknown, Vec::new()));
    };
    let grant: Option<Vec<u8>> = columns::get(row, 0)?;
    let used_at: Option<i64> = columns::get(row, 2)?;
    if columns::get(row, 1)? {
        if used_at.is_some_and(|used_at| codec::time(step.at.minus(step.grace)) < used_at) {
            return Ok((OpenIdStepResult::UsedJustNow, Vec::new()));
        }
        let removed = grant.map(|grant| Query::new(DURING, REMOVE_GRANT, params![grant]));
        return Ok((OpenIdStepResult::Replayed, removed.into_iter().collect()));
    }
    let mut writes = vec![Query::new(DURING, USE, params![step.id.0, codec::time(step.at)])];
    writes.extend(step.add.iter().flat_map(add));
    writes.extend(step.consent.iter().flat_map(agree));
    Ok((OpenIdStepResult::Done, writes))
}

/// Stores a consent. The oldest ones make room for it.
fn agree(new: &NewOpenIdConsent) -> [Query; 3] {
    const DURING: &str = "store a consent";
    const PUT: &str =
        "INSERT INTO openid_consents (client_id, subject, scopes, at, visitor) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (client_id, subject) DO UPDATE
            SET scopes = excluded.scopes, at = excluded.at, visitor = excluded.visitor";
    const OLD_OF: &str = "DELETE FROM openid_consents WHERE (client_id, subject) IN (
        SELECT client_id, subject FROM openid_consents WHERE visitor = $2 ORDER BY at DESC OFFSET $1)";
    const OLD: &str = "DELETE FROM openid_consents WHERE (client_id, subject) IN (
        SELECT client_id, subject FROM openid_consents ORDER BY at DESC OFFSET $1)";
    let NewOpenIdConsent { consent, visitor, most_of_visitor, most } = new;
    let columns =
        params![&*consent.client_id, &*consent.subject, &*consent.scopes, codec::time(consent.at), visitor.as_str()];
    [
        Query::new(DURING, PUT, columns),
        Query::new(DURING, OLD_OF, params![codec::limit(*most_of_visitor), visitor.as_str()]),
        Query::new(DURING, OLD, params![codec::limit(*most)]),
    ]
}
