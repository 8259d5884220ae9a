//! Creates logins with random parts and the service's settings.

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

use crate::kernel::id_generator::Ids;
use crate::login::operation::{Login, LoginOrigin, LoginTerms};
use crate::machine::Effect;
use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

pub(crate) struct NewLogins {
    pub(crate) ids: Ids,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) handshake_ttl: Duration,
    pub(crate) challenge_ttl: Duration,
    pub(crate) service_proof: Option<SubkeyProof>,
}

impl NewLogins {
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

    pub(crate) fn scanned(&self, reusable: StreamId, main_key: PublicKey, now: UnixMillis) -> (Login, Vec<Effect>) {
        Login::start_asking(self.terms(LoginOrigin::Reusable { stream: reusable }), main_key, now)
    }
}
