//! The model's records of the OpenID Connect provider.

use std::collections::BTreeMap;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    OpenIdConsent, OpenIdRecord, OpenIdRecordId, OpenIdStep, OpenIdStore, OpenIdUse, StoreError,
};

use super::{Model, oldest};

#[derive(Default)]
pub(super) struct OpenIdRows {
    records: BTreeMap<OpenIdRecordId, OpenIdRecord>,
    consents: BTreeMap<(String, String), OpenIdConsent>,
}

#[async_trait]
impl OpenIdStore for Model {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.rows.lock().openid.records.extend(records.into_iter().map(|record| (record.id, record)));
        Ok(())
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        Ok(self.rows.lock().openid.records.get(&id).cloned())
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdUse, StoreError> {
        let rows = &mut self.rows.lock().openid;
        let Some(record) = rows.records.get_mut(&step.id) else { return Ok(OpenIdUse::Unknown) };
        if record.used {
            if let Some(grant) = record.grant {
                rows.records.retain(|_, record| record.grant != Some(grant));
            }
            return Ok(OpenIdUse::UsedBefore);
        }
        record.used = true;
        rows.records.extend(step.add.into_iter().map(|record| (record.id, record)));
        if let Some(consent) = step.consent {
            rows.consents.insert((consent.client_id.clone(), consent.subject.clone()), consent);
        }
        Ok(OpenIdUse::Done)
    }

    async fn remove_openid_record(&self, id: OpenIdRecordId) -> Result<(), StoreError> {
        self.rows.lock().openid.records.remove(&id);
        Ok(())
    }

    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError> {
        let key = (client_id.to_owned(), subject.to_owned());
        Ok(self.rows.lock().openid.consents.get(&key).cloned())
    }

    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError> {
        let rows = self.rows.lock();
        let later = rows.openid.consents.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
        Ok(later.take(limit).map(|(_, consent)| consent.clone()).collect())
    }

    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError> {
        let rows = &mut self.rows.lock().openid;
        rows.records.retain(|_, record| {
            record.client_id.as_deref() != Some(client_id) || record.subject.as_deref() != Some(subject)
        });
        Ok(rows.consents.remove(&(client_id.to_owned(), subject.to_owned())).is_some())
    }

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let rows = &mut self.rows.lock().openid;
        let old = oldest(rows.records.values().map(|record| (record.expires_at, record.id)), before, limit);
        for id in &old {
            rows.records.remove(id);
        }
        Ok(old.len())
    }
}
