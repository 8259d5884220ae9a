//! The memory store's records of the OpenID Connect provider.

use std::collections::BTreeMap;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdConsent, OldOpenIdRecord, OpenIdConsent, OpenIdExcess, OpenIdQuota, OpenIdRecord, OpenIdRecordId,
    OpenIdStep, OpenIdStepResult, OpenIdStore, StoreError,
};

use super::{MemoryStore, oldest};

#[derive(Default)]
pub(super) struct OpenIdRows {
    records: BTreeMap<OpenIdRecordId, OpenIdRecord>,
    /// The ids, the oldest first.
    order: Vec<OpenIdRecordId>,
    used_at: BTreeMap<OpenIdRecordId, UnixMillis>,
    /// Each with its visitor.
    consents: BTreeMap<(String, String), (OpenIdConsent, String)>,
}

impl OpenIdRows {
    fn add(&mut self, records: Vec<OpenIdRecord>) {
        for record in records {
            self.order.retain(|other| *other != record.id);
            self.order.push(record.id);
            self.used_at.remove(&record.id);
            self.records.insert(record.id, record);
        }
    }

    /// Removes the consents and records of a user; returns how many of each.
    pub(super) fn forget(&mut self, subject: &str) -> (usize, usize) {
        let (consents, records) = (self.consents.len(), self.records.len());
        self.consents.retain(|(_, of), _| of != subject);
        self.records.retain(|_, record| record.subject.as_deref() != Some(subject));
        (consents - self.consents.len(), records - self.records.len())
    }

    fn agree(&mut self, new: NewOpenIdConsent) {
        let NewOpenIdConsent { consent, visitor, most_of_visitor, most } = new;
        let key = (consent.client_id.clone(), consent.subject.clone());
        self.consents.insert(key, (consent, visitor.clone()));
        for (of, most) in [(Some(visitor), most_of_visitor), (None, most)] {
            let of = |(_, visitor): &&(OpenIdConsent, String)| of.as_ref().is_none_or(|of| of == visitor);
            let mut newest: Vec<_> = self.consents.values().filter(of).map(|(consent, _)| consent.clone()).collect();
            newest.sort_by_key(|consent| std::cmp::Reverse(consent.at));
            for old in newest.into_iter().skip(most) {
                self.consents.remove(&(old.client_id, old.subject));
            }
        }
    }
}

#[async_trait]
impl OpenIdStore for MemoryStore {
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError> {
        self.rows.lock().openid.add(records);
        Ok(())
    }

    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError> {
        Ok(self.rows.lock().openid.records.get(&id).cloned())
    }

    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError> {
        let rows = &mut self.rows.lock().openid;
        let Some(record) = rows.records.get_mut(&step.id) else { return Ok(OpenIdStepResult::Unknown) };
        if record.used {
            if rows.used_at.get(&step.id).is_some_and(|used_at| step.at.minus(step.grace) < *used_at) {
                return Ok(OpenIdStepResult::UsedJustNow);
            }
            if let Some(grant) = record.grant {
                rows.records.retain(|_, record| record.grant != Some(grant));
            }
            return Ok(OpenIdStepResult::Replayed);
        }
        record.used = true;
        rows.used_at.insert(step.id, step.at);
        rows.add(step.add);
        if let Some(consent) = step.consent {
            rows.agree(consent);
        }
        Ok(OpenIdStepResult::Done)
    }

    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError> {
        self.rows.lock().openid.records.retain(|id, _| !ids.contains(id));
        Ok(())
    }

    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError> {
        let rows = &self.rows.lock().openid;
        let all = rows.order.iter().filter_map(|id| rows.records.get(id));
        let mut counted: Vec<_> = all
            .filter(|record| record.quota == quota && visitor.is_none_or(|visitor| visitor == record.visitor))
            .collect();
        counted.sort_by_key(|record| !record.used);
        let taken: u64 = counted.iter().map(|record| record.bytes).sum();
        let bytes = taken.saturating_sub(most);
        if bytes == 0 {
            return Ok(OpenIdExcess::default());
        }
        for chars in [OpenIdRecord::WIDEST, OpenIdRecord::WIDE, usize::MAX] {
            let part = |visitor: &str| visitor.get(..chars.min(visitor.len())).unwrap_or_default().to_owned();
            let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
            for record in &counted {
                *sizes.entry(part(&record.visitor)).or_default() += record.bytes;
            }
            let largest = sizes.into_iter().max_by_key(|(part, bytes)| (*bytes, part.clone()));
            counted.retain(|record| largest.as_ref().is_some_and(|(largest, _)| *largest == part(&record.visitor)));
        }
        let old = |record: &OpenIdRecord| {
            let OpenIdRecord { id, data, bytes, visitor, .. } = record.clone();
            OldOpenIdRecord { id, data, bytes, visitor }
        };
        Ok(OpenIdExcess { bytes, oldest: counted.into_iter().skip(skip).take(limit).map(old).collect() })
    }

    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError> {
        let key = (client_id.to_owned(), subject.to_owned());
        Ok(self.rows.lock().openid.consents.get(&key).map(|(consent, _)| consent.clone()))
    }

    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError> {
        let rows = self.rows.lock();
        let later = rows.openid.consents.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
        Ok(later.take(limit).map(|(_, (consent, _))| consent.clone()).collect())
    }

    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError> {
        let rows = &mut self.rows.lock().openid;
        rows.records.retain(|_, record| {
            record.client_id.as_deref() != Some(client_id) || record.subject.as_deref() != Some(subject)
        });
        Ok(rows.consents.remove(&(client_id.to_owned(), subject.to_owned())).is_some())
    }

    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError> {
        let rows = &mut self.rows.lock().openid;
        let old = oldest(rows.records.values().map(|record| (record.expires_at, record.id)), before, limit);
        Ok(old.iter().filter_map(|id| rows.records.remove(id)).map(|record| record.data).collect())
    }
}
