//! The clients: those of the configuration, and stored ones, which the operator changes while the service runs.
//!
//! A change is on disk before it is in force. Only the active instance of the service changes them; the next one reads them when
//! it becomes active. If both have a client with one id, that of the configuration is in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use usher_engine::UnixMillis;
use usher_engine::ports::{OpenIdClient, OpenIdClientError, OpenIdKeyError, OpenIdStore};

use crate::client::Client;

pub(crate) const SETTING: &str = "openid.clients";

/// Most stored clients, as many as the configuration may have.
pub(crate) const MAX_STORED: usize = 100;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredClient {
    #[serde(flatten)]
    pub(crate) client: Arc<Client>,
    /// Unix milliseconds.
    pub(crate) created_at: u64,
}

pub(crate) type Stored = BTreeMap<String, StoredClient>;

pub(crate) struct Clients {
    configured: BTreeMap<String, Arc<Client>>,
    pub(crate) stored: RwLock<Stored>,
    /// Locked for a whole change.
    pub(crate) change: tokio::sync::Mutex<()>,
}

impl Clients {
    pub(crate) async fn load(configured: Vec<Client>, store: &dyn OpenIdStore) -> Result<Self, OpenIdKeyError> {
        let stored = match store.setting(SETTING).await? {
            None => Stored::new(),
            Some(text) => serde_json::from_str(&text).map_err(|_| OpenIdKeyError::DamagedClients)?,
        };
        Ok(Self {
            configured: configured.into_iter().map(|client| (client.id.clone(), Arc::new(client))).collect(),
            stored: RwLock::new(stored),
            change: tokio::sync::Mutex::new(()),
        })
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Client>> {
        let configured = self.configured.get(id).cloned();
        configured.or_else(|| self.stored.read().get(id).map(|stored| Arc::clone(&stored.client)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.configured.is_empty() && self.stored.read().is_empty()
    }

    pub(crate) fn list(&self) -> Vec<OpenIdClient> {
        let stored = self.stored.read();
        let stored = stored.values().filter(|stored| !self.configured.contains_key(&stored.client.id));
        let configured = self.configured.values().map(|client| shown(client, None));
        configured.chain(stored.map(StoredClient::shown)).collect()
    }

    /// A stored client that is in force.
    pub(crate) fn stored(&self, id: &str) -> Result<(StoredClient, Stored), OpenIdClientError> {
        if self.configured.contains_key(id) {
            return Err(OpenIdClientError::Configured);
        }
        let all = self.stored.read().clone();
        let found = all.get(id).cloned();
        found.map(|found| (found, all)).ok_or(OpenIdClientError::NotFound)
    }
}

impl StoredClient {
    pub(crate) fn shown(&self) -> OpenIdClient {
        shown(&self.client, Some(UnixMillis(self.created_at)))
    }
}

fn shown(client: &Client, created_at: Option<UnixMillis>) -> OpenIdClient {
    OpenIdClient {
        client_id: client.id.clone(),
        name: client.name.clone(),
        is_public: client.secret.is_none(),
        redirect_uris: client.redirect_uris.clone(),
        post_logout_redirect_uris: client.post_logout_redirect_uris.clone(),
        require_pkce: client.needs_pkce(),
        algorithm: client.algorithm.as_str(),
        created_at,
    }
}
