//! The model's answers and settings.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{Answer, AnswerKey, AnswerStore, KeepAnswer, SettingStore, StoreError};

use super::{Model, Rows, oldest};

impl Rows {
    /// Whether there is an answer to the call that has not had its time.
    pub(super) fn is_answered(&self, keep: &KeepAnswer) -> bool {
        self.answers.get(&keep.answer.key).is_some_and(|kept| kept.at >= keep.replace_before)
    }
}

#[async_trait]
impl AnswerStore for Model {
    async fn answer(&self, key: &AnswerKey) -> Result<Option<Answer>, StoreError> {
        Ok(self.rows.lock().answers.get(key).cloned())
    }

    async fn keep_answer(&self, keep: KeepAnswer) -> Result<bool, StoreError> {
        let mut rows = self.rows.lock();
        let free = !rows.is_answered(&keep);
        if free {
            rows.answers.insert(keep.answer.key, keep.answer);
        }
        Ok(free)
    }

    async fn forget_answers(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let old = oldest(rows.answers.iter().map(|(key, answer)| (answer.at, *key)), before, limit);
        for key in &old {
            rows.answers.remove(key);
        }
        Ok(old.len())
    }
}

#[async_trait]
impl SettingStore for Model {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.rows.lock().settings.get(name).cloned())
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock();
        match value {
            Some(value) => rows.settings.insert(name.to_owned(), value.to_owned()),
            None => rows.settings.remove(name),
        };
        Ok(())
    }
}
