//! The logins to the console. Anybody can begin one and complete it with a generated key, so the page removes them:
//! each once its outcome was seen, and the oldest when there are too many. The engine also bounds unused logins.

use std::time::Duration;

use parking_lot::Mutex;
use usher_engine::ports::StoreError;
use usher_engine::{ClientNetwork, Engine, StreamId};
use usher_places::{Places, limit};

use super::purpose::Purpose;

/// Lost at a restart; such logins are removed after their retention.
pub(super) struct BegunLogins(Mutex<Places<StreamId, Purpose>>);

impl Default for BegunLogins {
    fn default() -> Self {
        Self(Mutex::new(Places::new(limit::OPERATOR_LOGINS.fixed())))
    }
}

impl BegunLogins {
    /// Adds a login of this network; removes those that make room for it.
    pub(super) async fn add(
        &self,
        engine: &Engine,
        login: StreamId,
        network: ClientNetwork,
        purpose: Purpose,
        now: Duration,
    ) -> Result<(), StoreError> {
        let displaced = self.0.lock().take(login, &network.into(), purpose, now).unwrap_or_default();
        for (displaced, _) in displaced {
            engine.logins().forget(displaced).await?;
        }
        Ok(())
    }

    /// Removes a login whose outcome was seen.
    pub(super) async fn forget(&self, engine: &Engine, login: StreamId) -> Result<Purpose, StoreError> {
        engine.logins().forget(login).await?;
        Ok(self.0.lock().free(&login).unwrap_or_default())
    }
}
