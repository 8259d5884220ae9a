//! The list of logins that have ended.

use super::Logins;
use crate::ports::{EndedLogin, LoginFilter, LoginPosition, LoginRecordStatus, StoreError};
use crate::{Page, Requester};

impl Logins {
    /// Up to `limit` logins that ended before the one at `after`, the last first. A page with a status may be short.
    pub async fn list(
        &self,
        requester: &Requester,
        filter: LoginFilter,
        status: Option<LoginRecordStatus>,
        after: Option<LoginPosition>,
        limit: usize,
    ) -> Result<Page<EndedLogin, LoginPosition>, StoreError> {
        let (items, next) = self.core.store.login_records(requester, filter, status, after, limit).await?;
        Ok(Page { items, next })
    }
}
