use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Directory, OpenIdStore, Randomness};
use usher_page_layout::Site;

use crate::address_pseudonym_key::AddressPseudonymKey;
use crate::client::{Client, is_on_loopback};
use crate::clients::Clients;
use crate::keys::SigningKeys;
use crate::logins::Logins;
use crate::secret::TokenKey;

/// Options of the provider.
#[derive(Clone, Debug)]
pub struct OpenIdOptions {
    /// Its issuer identifier: how a browser reaches the service, without a trailing slash (`pages.public_url`).
    pub issuer: String,
    /// The layout of the service's pages.
    pub site: Site,
    /// The clients of the configuration.
    pub clients: Vec<Client>,
    /// The domain of the claim `email`; without one there is no such claim.
    pub email_domain: Option<String>,
    /// How long a browser stays logged in, so that further apps need no new login; at least a few minutes, in which the
    /// user consents.
    pub session_ttl: Duration,
    /// Pseudonymises visitors' addresses in the database.
    pub pseudonym_key: AddressPseudonymKey,
    /// Makes tokens.
    pub token_key: TokenKey,
}

/// What the provider depends on.
pub struct OpenIdParts {
    /// Keeps its records.
    pub store: Arc<dyn OpenIdStore>,
    /// Logs users in.
    pub logins: Arc<dyn Logins>,
    /// Knows users' profiles.
    pub directory: Arc<dyn Directory>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Makes secrets.
    pub randomness: Arc<dyn Randomness>,
}

pub(crate) type SharedProvider = Arc<Provider>;

pub(crate) struct Provider {
    pub(crate) options: OpenIdOptions,
    /// The path of the issuer, without a trailing slash: a proxy may serve the pages below a path.
    pub(crate) base: String,
    pub(crate) clients: Clients,
    pub(crate) store: Arc<dyn OpenIdStore>,
    pub(crate) logins: Arc<dyn Logins>,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) keys: SigningKeys,
    /// Permits to begin a login.
    pub(crate) beginning: Arc<Semaphore>,
    /// Requests that change something and must run to completion.
    pub(crate) tasks: TaskTracker,
    /// Locked while excess requests are removed. Redeeming a code does not wait for it.
    pub(crate) making_room_for_requests: Mutex<()>,
    /// Locked while excess sessions and tokens are removed.
    pub(crate) making_room_for_grants: Mutex<()>,
}

impl Provider {
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether this is a redirect URI for all clients: in test mode, an address of this machine.
    pub(crate) fn is_free_to_lead_to(&self, uri: &str) -> bool {
        self.options.site.is_test_mode() && is_on_loopback(uri)
    }
}
