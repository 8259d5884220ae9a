//! The logins that this page has begun. Anybody can begin one, and complete it with a key of their own, so the page removes what is
//! left of them: when it has seen the outcome, and the oldest when there are too many. Those that nobody has used yet are bounded by
//! the engine as well.

use std::time::Duration;

use parking_lot::Mutex;
use usher_engine::ports::StoreError;
use usher_engine::{ClientNetwork, Engine, StreamId};
use usher_places::{Places, limit};

/// A restart forgets which they were: then they are removed after their retention.
pub(super) struct BegunLogins(Mutex<Places<StreamId>>);

impl Default for BegunLogins {
    fn default() -> Self {
        Self(Mutex::new(Places::new(limit::OPERATOR_LOGINS.fixed())))
    }
}

impl BegunLogins {
    /// A login of this network has begun. Those that make room for it are removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn add(
        &self,
        engine: &Engine,
        login: StreamId,
        network: ClientNetwork,
        now: Duration,
    ) -> Result<(), StoreError> {
        let displaced = self.0.lock().take(login, &network.into(), (), now).unwrap_or_default();
        for (displaced, ()) in displaced {
            engine.logins().forget(displaced).await?;
        }
        Ok(())
    }

    /// Removes a login whose outcome was seen.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn forget(&self, engine: &Engine, login: StreamId) -> Result<(), StoreError> {
        engine.logins().forget(login).await?;
        self.0.lock().free(&login);
        Ok(())
    }
}
