//! The records of the OpenID Connect provider.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdConsent, OfOpenIdClient, OldOpenIdRecord, OpenIdConsent, OpenIdExcess, OpenIdQuota, OpenIdRecord,
    OpenIdRecordId, OpenIdStep, OpenIdStepResult, OpenIdStore, StoreError,
};

use super::settings;
use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore, bounds};
use crate::row::{Answer, Row};
use crate::statement::{Query, Statement, params};

/// The visitor under which the total is counted.
const ALL: &str = "*";

const USING: &str = "use a record of the OpenID Connect provider";

const BOUNDING: &str = "bound the records of the OpenID Connect provider";

const REVOKING: &str = "revoke a consent";

const CHANGING: &str = "change the clients of the OpenID Connect provider";

/// Not an upsert: triggers count only inserted and deleted rows.
const REMOVE: Statement =
    Statement::new("remove records of the OpenID Connect provider", "DELETE FROM openid_records WHERE id = ?1");

const ADD: Statement = Statement::new(
    "store a record of the OpenID Connect provider",
    "INSERT INTO openid_records (id, grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
);

const GET: Statement = Statement::new(
    "read a record of the OpenID Connect provider",
    "SELECT grant_id, client_id, subject, data, expires_at, used, quota, visitor, bytes
     FROM openid_records WHERE id = ?1",
);

const STATE: Statement = Statement::new(USING, "SELECT grant_id, used, used_at FROM openid_records WHERE id = ?1");

const USE: Statement = Statement::new(USING, "UPDATE openid_records SET used = TRUE, used_at = ?2 WHERE id = ?1");

const REMOVE_GRANT: Statement = Statement::new(USING, "DELETE FROM openid_records WHERE grant_id = ?1");

const SIZE: Statement = Statement::new(BOUNDING, "SELECT bytes FROM openid_sizes WHERE quota = ?1 AND visitor = ?2");

/// Of the network with the most, at the width [`OpenIdRecord::WIDEST`], then [`OpenIdRecord::WIDE`], then exactly.
const OLDEST_OF_LARGEST: Statement = Statement::new(
    BOUNDING,
    "SELECT id, data, bytes, visitor FROM openid_records INDEXED BY openid_records_oldest_of
     WHERE quota = ?1 AND visitor = (
         SELECT visitor FROM openid_sizes WHERE quota = ?1 AND visitor <> '*' AND substr(visitor, 1, 40) = (
             SELECT substr(visitor, 1, 40) FROM openid_sizes
             WHERE quota = ?1 AND visitor <> '*' AND substr(visitor, 1, 24) = (
                 SELECT substr(visitor, 1, 24) FROM openid_sizes WHERE quota = ?1 AND visitor <> '*'
                 GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
             ) GROUP BY 1 ORDER BY sum(bytes) DESC, 1 DESC LIMIT 1
         ) ORDER BY bytes DESC, visitor DESC LIMIT 1
     ) ORDER BY used DESC, rowid LIMIT ?2 OFFSET ?3",
);

const OLDEST_OF: Statement = Statement::new(
    BOUNDING,
    "SELECT id, data, bytes, visitor FROM openid_records INDEXED BY openid_records_oldest_of
     WHERE quota = ?1 AND visitor = ?4 ORDER BY used DESC, rowid LIMIT ?2 OFFSET ?3",
);

/// Unordered.
const EXPIRED: Statement = Statement::new(
    "remove expired records of the OpenID Connect provider",
    "DELETE FROM openid_records WHERE id IN (
         SELECT id FROM openid_records WHERE expires_at < ?1 ORDER BY expires_at, id LIMIT ?2)
     RETURNING expires_at, id, data",
);

const CONSENT: Statement = Statement::new(
    "read a consent",
    "SELECT client_id, subject, scopes, at FROM openid_consents WHERE client_id = ?1 AND subject = ?2",
);

const CONSENTS: Statement = Statement::new(
    "list consents",
    "SELECT client_id, subject, scopes, at FROM openid_consents
     WHERE ?1 OR (client_id, subject) > (?2, ?3) ORDER BY client_id, subject LIMIT ?4",
);

const REVOKE_RECORDS: Statement =
    Statement::new(REVOKING, "DELETE FROM openid_records WHERE client_id = ?1 AND subject = ?2");

const REVOKE: Statement = Statement::new(REVOKING, "DELETE FROM openid_consents WHERE client_id = ?1 AND subject = ?2");

const REMOVE_OF_CLIENT: Statement =
    Statement::new(CHANGING, "DELETE FROM openid_records WHERE client_id = ?1 AND (?2 OR quota = 0)");

const REMOVE_CONSENTS_OF_CLIENT: Statement =
    Statement::new(CHANGING, "DELETE FROM openid_consents WHERE client_id = ?1");

const PUT_CONSENT: Statement = Statement::new(
    "store a consent",
    "INSERT INTO openid_consents (client_id, subject, scopes, at, visitor) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (client_id, subject) DO UPDATE
         SET scopes = excluded.scopes, at = excluded.at, visitor = excluded.visitor",
);

const OLD_CONSENTS_OF: Statement = Statement::new(
    "bound the consents of a visitor",
    "DELETE FROM openid_consents WHERE (client_id, subject) IN (
         SELECT client_id, subject FROM openid_consents INDEXED BY openid_consents_oldest_of WHERE visitor = ?2
         ORDER BY at DESC LIMIT 1099511627776 OFFSET ?1)",
);

const OLD_CONSENTS: Statement = Statement::new(
    "bound the consents",
    "DELETE FROM openid_consents WHERE (client_id, subject) IN (
         SELECT client_id, subject FROM openid_consents INDEXED BY openid_consents_oldest
         ORDER BY at DESC LIMIT 1099511627776 OFFSET ?1)",
);

#[async_trait]
impl<E: Engine> OpenIdStore for SqlStore<E> {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.0.write_blind(add(&records).into()).await
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        self.first(GET.with(params![id.0]), move |row| stored(row, id)).await
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError> {
        self.0.decide(vec![STATE.with(params![step.id.0])], move |read| use_once(read, &step)).await
    }

    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError> {
        self.0.write_blind(vec![REMOVE.each(ids.iter().map(|id| params![id.0]))]).await
    }

    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError> {
        let quota = quota_code(quota);
        let size = SIZE.with(params![quota, visitor.unwrap_or(ALL)]);
        let bytes = self.first(size, |row| row.int::<i64>(0)).await?.unwrap_or_default();
        let bytes = u64::try_from(bytes).unwrap_or_default().saturating_sub(most);
        if bytes == 0 {
            return Ok(OpenIdExcess::default());
        }
        let page = (codec::limit(limit), codec::limit(skip));
        let oldest = match visitor {
            None => OLDEST_OF_LARGEST.with(params![quota, page.0, page.1]),
            Some(visitor) => OLDEST_OF.with(params![quota, page.0, page.1, visitor]),
        };
        let old = |row: &Row| {
            let id = OpenIdRecordId(row.bytes(0)?);
            let data = row.string(1).unwrap_or_default();
            Ok(OldOpenIdRecord { id, data, bytes: row.int(2)?, visitor: row.string(3)? })
        };
        Ok(OpenIdExcess { bytes, oldest: self.all(oldest, old).await? })
    }

    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError> {
        self.first(CONSENT.with(params![client_id, subject]), consent).await
    }

    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError> {
        let is_first_page = after.is_none();
        let (client_id, subject) = after.unwrap_or_default();
        let page = params![is_first_page, &*client_id, &*subject, codec::limit(limit)];
        self.all(CONSENTS.with(page), consent).await
    }

    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError> {
        let queries = [REVOKE_RECORDS, REVOKE].map(|statement| statement.with(params![client_id, subject]));
        Ok(self.change_all(queries.into()).await? == 1)
    }

    async fn set_openid_clients(
        &self,
        name: &str,
        value: &str,
        client_id: &str,
        removed: OfOpenIdClient,
    ) -> Result<(), StoreError> {
        let mut queries = vec![settings::set(name, Some(value))];
        let all = removed == OfOpenIdClient::Everything;
        if removed != OfOpenIdClient::Nothing {
            queries.push(REMOVE_OF_CLIENT.with(params![client_id, all]));
        }
        if all {
            queries.push(REMOVE_CONSENTS_OF_CLIENT.with(params![client_id]));
        }
        self.0.write_blind(queries).await
    }

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError> {
        let answers = self.0.write(vec![EXPIRED.with(bounds(before, limit))]).await?;
        let removed = answers.iter().flat_map(|removed| &removed.rows).map(|row| {
            let order = (row.int::<i64>(0).unwrap_or_default(), row.blob(1).unwrap_or_default());
            (order, row.string(2).unwrap_or_default())
        });
        let mut removed: Vec<_> = removed.collect();
        removed.sort();
        Ok(removed.into_iter().map(|(_, data)| data).collect())
    }
}

/// Replaces records with these ids, which become the newest ones.
fn add(records: &[OpenIdRecord]) -> [Query; 2] {
    let columns = records.iter().map(|record| {
        params![
            record.id.0,
            record.grant,
            record.client_id.as_deref(),
            record.subject.as_deref(),
            &*record.data,
            codec::time(record.expires_at),
            record.used,
            quota_code(record.quota),
            &*record.visitor,
            codec::integer(record.bytes),
        ]
    });
    [REMOVE.each(records.iter().map(|record| params![record.id.0])), ADD.each(columns)]
}

const fn quota_code(quota: OpenIdQuota) -> u8 {
    match quota {
        OpenIdQuota::Requests => 0,
        OpenIdQuota::Grants => 1,
    }
}

/// The record with this id in a row of its other columns.
pub(crate) fn stored(row: &Row, id: OpenIdRecordId) -> Result<OpenIdRecord, Unreadable> {
    let data = row.string(3)?;
    if !codec::is_json(&data) {
        return Err(Unreadable("a record of the OpenID Connect provider"));
    }
    Ok(OpenIdRecord {
        id,
        grant: row.optional_bytes(0)?,
        client_id: row.optional_string(1)?,
        subject: row.optional_string(2)?,
        data,
        expires_at: row.time(4)?,
        used: row.is_true(5)?,
        quota: if row.is_true(6)? { OpenIdQuota::Grants } else { OpenIdQuota::Requests },
        visitor: row.string(7)?,
        bytes: row.int(8)?,
    })
}

pub(crate) fn consent(row: &Row) -> Result<OpenIdConsent, Unreadable> {
    Ok(OpenIdConsent { client_id: row.string(0)?, subject: row.string(1)?, scopes: row.string(2)?, at: row.time(3)? })
}

fn use_once(read: &[Answer], step: &OpenIdStep) -> Result<(OpenIdStepResult, Vec<Query>), Unreadable> {
    let Some(row) = read.iter().flat_map(|answer| &answer.rows).next() else {
        return Ok((OpenIdStepResult::Unknown, Vec::new()));
    };
    let (grant, used_at) = (row.optional_blob(0)?, row.optional_int::<i64>(2)?);
    if row.is_true(1)? {
        if used_at.is_some_and(|used_at| codec::time(step.at.minus(step.grace)) < used_at) {
            return Ok((OpenIdStepResult::UsedJustNow, Vec::new()));
        }
        let removed = grant.map(|grant| REMOVE_GRANT.with(params![grant]));
        return Ok((OpenIdStepResult::Replayed, removed.into_iter().collect()));
    }
    let mut writes = vec![USE.with(params![step.id.0, codec::time(step.at)])];
    writes.extend(add(&step.add));
    writes.extend(step.consent.iter().flat_map(agree));
    Ok((OpenIdStepResult::Done, writes))
}

/// Stores a consent, and removes the oldest ones to make room.
fn agree(new: &NewOpenIdConsent) -> [Query; 3] {
    let NewOpenIdConsent { consent, visitor, most_of_visitor, most } = new;
    let columns =
        params![&*consent.client_id, &*consent.subject, &*consent.scopes, codec::time(consent.at), visitor.as_str()];
    [
        PUT_CONSENT.with(columns),
        OLD_CONSENTS_OF.with(params![codec::limit(*most_of_visitor), visitor.as_str()]),
        OLD_CONSENTS.with(params![codec::limit(*most)]),
    ]
}
