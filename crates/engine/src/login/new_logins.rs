//! What new logins are made of: what is random about them, and the service's settings.

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

use crate::kernel::ids::Ids;
use crate::operations::{Effect, Login, LoginOrigin, LoginTerms};
use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

/// Makes logins.
pub(crate) struct NewLogins {
    pub(crate) ids: Ids,
    pub(crate) clock: Arc<dyn Clock>,
    /// How long a user may take to begin (`handshake.ttl_seconds`).
    pub(crate) handshake_ttl: Duration,
    /// How long a wallet may take to respond to its challenge (`auth.challenge_ttl_seconds`).
    pub(crate) challenge_ttl: Duration,
    /// The service's own proof, when it runs on a subkey.
    pub(crate) service_proof: Option<SubkeyProof>,
}

impl NewLogins {
    /// A login that somebody is to begin from now on.
    pub(crate) fn terms(&self, origin: LoginOrigin) -> LoginTerms {
        LoginTerms {
            token: self.ids.token(),
            wallet_challenge: self.ids.token(),
            signer_challenge: self.ids.token(),
            page_secret: self.ids.token(),
            browser: None,
            origin,
            return_url: None,
            expires_at: self.clock.now().plus(self.handshake_ttl),
            challenge_ttl: self.challenge_ttl,
            service_proof: self.service_proof.clone(),
        }
    }

    /// The login of a user who has scanned the URL of a reusable login.
    pub(crate) fn scanned(&self, reusable: StreamId, main_key: PublicKey, now: UnixMillis) -> (Login, Vec<Effect>) {
        Login::start_asking(self.terms(LoginOrigin::Reusable { stream: reusable }), main_key, now)
    }
}
