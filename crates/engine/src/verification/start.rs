//! Opens an age verification session.

use usher_protocol::keys::npub;

use super::Verification;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{Nullable, WebUrl};
use crate::verification::operation::{VerificationSession, VerificationTerms};
use crate::{Requester, StreamId, UnixMillis};

request_body! {
    /// Opens an age verification session. Every field is optional, and so is the body.
    #[derive(Clone, Debug, Default)]
    pub struct VerificationSessionRequest, VerificationSessionDraft = "VerificationSessionRequest", example {} {
        /// Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of
        /// `pages.return_urls`. Who has passed goes there at once, others by a button.
        return_url: Nullable<WebUrl>,
    }
}

/// The digits of a session's number in each attempt to find one that no open session has.
const NUMBER_DIGITS: [u32; 12] = [4, 4, 4, 4, 6, 6, 6, 6, 8, 8, 8, 8];

/// A session that was opened.
#[derive(Clone)]
pub struct VerificationSessionStarted {
    /// The session, and its stream.
    pub session_id: StreamId,
    /// The page for the user's browser. Whoever has it can act in the user's place.
    pub session_url: String,
    /// The session's own key as `npub…` (NIP-19).
    pub ephemeral_npub: String,
    /// Until when it can be decided.
    pub expires_at: UnixMillis,
}

usher_protocol::debug_shows!(VerificationSessionStarted { session_id });

impl Verification {
    /// Opens an age verification session.
    pub async fn start(
        &self,
        requester: &Requester,
        request: VerificationSessionRequest,
        once: Option<IdempotentRequest<VerificationSessionStarted>>,
    ) -> Result<VerificationSessionStarted, StartError> {
        for digits in NUMBER_DIGITS {
            if let Some(started) = self.try_start(requester, &request, once.as_ref(), digits).await? {
                return Ok(started);
            }
        }
        Err(StartError::TooManyOpen)
    }

    /// `None` if an open session has the same number.
    async fn try_start(
        &self,
        requester: &Requester,
        request: &VerificationSessionRequest,
        once: Option<&IdempotentRequest<VerificationSessionStarted>>,
        digits: u32,
    ) -> Result<Option<VerificationSessionStarted>, StartError> {
        let rules = &self.rules;
        let now = self.core.clock.now();
        let (session_id, page_secret) = (self.core.ids.stream_id(), self.core.ids.token());
        let keys = self.core.ids.keys();
        let started = VerificationSessionStarted {
            session_id,
            session_url: format!("{}/verify/{session_id}/{page_secret}", self.pages.url),
            ephemeral_npub: npub(&keys.public_key()),
            expires_at: UnixMillis::from_secs(now.plus(rules.session_ttl).secs()),
        };
        let terms = VerificationTerms {
            keys,
            service_key: self.service_key,
            page_secret,
            request_id: self.core.ids.token(),
            minimum_age: rules.minimum_age,
            proof: rules.proof(),
            expires_at: started.expires_at,
            return_url: self.pages.return_url(request.return_url.as_deref(), session_id)?,
            number: self.core.ids.number(digits),
        };
        let (state, effects) = VerificationSession::start(terms);
        let record = once.map(|once| once.record(&started, now));
        let operation = Operation::VerificationSession(state);
        let taken = self.starter.create(session_id, requester.origin(), operation, effects, record).await?;
        Ok(taken.is_none().then_some(started))
    }
}
