//! Authentication: a user proves that they hold a key by responding to a challenge.
//!
//! ```text
//! asking ──approved──▶ finished   StatusUpdate {status: approved, main_key, granted_permissions, session_token?}
//! asking ──declined──▶ finished   StatusUpdate {status: declined, main_key, reason?}
//! asking ──expired───▶ finished   StatusUpdate {status: timeout}
//! asking ──a device proves its subkey──▶ asking   the challenge is sent again, to that device too
//! ```
//!
//! `conversation` decides whose reply is valid.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged; nothing is there |
//! | after the start, before or after the challenge is sent | the outbox sends it (again) until there is a reply or it expires |
//! | before a reply is committed | the challenge is sent again, and the wallet repeats its reply |
//! | after a reply | the event is in the stream; the repeated reply matches no open operation |

use std::fmt;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::{AuthChallenge, AuthResponse, AuthStatus, ServiceMessage, WalletMessage};
use usher_protocol::subkey::{Permission, SubkeyProof};

use super::conversation::Conversation;
use super::{Effect, Input, SetBack, StateMachine, StepResult, emit, millis};
use crate::UnixMillis;
use crate::event_data::{EventData, LoginData};
use crate::ports::{CorrelationKey, OperationKind};

/// The state of an authentication.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    challenge: String,
    #[serde(flatten)]
    conversation: Conversation,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    /// The service's own proof, when it runs on a subkey.
    service_proof: Option<SubkeyProof>,
}

/// What an input says about a challenge.
pub(super) enum Reply {
    /// Nothing.
    Ignored,
    /// A device has proven its key and gets the challenge as well.
    Proven(Effect),
    /// The user has responded.
    Answered {
        /// Whose response it is.
        main_key: PublicKey,
        /// Whether the user agrees.
        is_approved: bool,
        /// The same for the app.
        data: LoginData,
    },
    /// Nobody responded in time.
    Expired,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("main_key", &self.conversation.main_key()).finish_non_exhaustive()
    }
}

impl StateMachine for Authentication {
    fn kind(&self) -> OperationKind {
        OperationKind::Authentication
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        Self::step(self, input, now)
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at())
    }

    fn clock_set_back(&mut self, set_back: SetBack, _: UnixMillis) {
        Self::clock_set_back(self, set_back);
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![self.correlation()]
    }
}

impl Authentication {
    /// Sends a challenge to `main_key`, whose `subkeys` may reply without a proof, until `expires_at`; the challenge
    /// must be random.
    pub fn start(
        challenge: String,
        main_key: PublicKey,
        subkeys: &[PublicKey],
        expires_at: UnixMillis,
        service_proof: Option<SubkeyProof>,
    ) -> (Self, Vec<Effect>) {
        let conversation = Conversation::new(main_key, subkeys);
        let state = Self { challenge, conversation, expires_at, service_proof };
        let ask = state.ask();
        (state, vec![ask])
    }

    pub(super) const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    pub(super) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::challenge(&self.challenge)
    }

    pub(super) fn clock_set_back(&mut self, set_back: SetBack) {
        set_back.expiry(&mut self.expires_at);
    }

    pub(super) fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match self.reply(input, now) {
            Reply::Ignored => StepResult::Ignored,
            Reply::Proven(ask) => StepResult::Stepped(vec![ask]),
            Reply::Answered { data, .. } => {
                StepResult::Stepped(vec![emit(EventData::Login(data), now), Effect::Finish])
            }
            Reply::Expired => {
                let data = LoginData::timeout("the user did not answer in time");
                StepResult::Stepped(vec![emit(data, now), Effect::Finish])
            }
        }
    }

    /// What an input says about the challenge.
    pub(super) fn reply(&mut self, input: &Input, now: UnixMillis) -> Reply {
        match input {
            Input::Timer if now >= self.expires_at => Reply::Expired,
            // Between expiry and the timer, replies are ignored: the wallet knows when it expires.
            _ if now >= self.expires_at => Reply::Ignored,
            Input::Wallet { author, message: WalletMessage::AuthResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } => {
                self.proven(author, proof, now)
            }
            _ => Reply::Ignored,
        }
    }

    fn answered(&self, author: &PublicKey, response: &AuthResponse, now: UnixMillis) -> Reply {
        if response.challenge != self.challenge {
            return Reply::Ignored;
        }
        let proof = response.subkey_proof.as_ref();
        let Some(main_key) = self.conversation.main_key_of(author, proof, Permission::Auth, now) else {
            return Reply::Ignored;
        };
        let (is_approved, data) = match &response.status {
            AuthStatus::Approved { granted_permissions, session_token } => {
                let data = LoginData {
                    status: "approved".to_owned(),
                    main_key: Some(main_key.to_hex()),
                    granted_permissions: Some(granted_permissions.clone()),
                    session_token: session_token.clone(),
                    ..LoginData::default()
                };
                (true, data)
            }
            AuthStatus::Declined { reason } => {
                let data = LoginData {
                    status: "declined".to_owned(),
                    main_key: Some(main_key.to_hex()),
                    reason: reason.clone(),
                    ..LoginData::default()
                };
                (false, data)
            }
        };
        Reply::Answered { main_key, is_approved, data }
    }

    /// A device could not read the challenge and proves that it is a subkey: it gets the challenge as well.
    fn proven(&mut self, author: &PublicKey, proof: &SubkeyProof, now: UnixMillis) -> Reply {
        if self.conversation.prove(author, proof, Permission::Auth, now) {
            Reply::Proven(self.ask_too(author))
        } else {
            Reply::Ignored
        }
    }

    fn ask(&self) -> Effect {
        Effect::Send(self.conversation.message(&self.message(), self.expires_at))
    }

    /// The same to a key that has just proven itself.
    fn ask_too(&self, proven: &PublicKey) -> Effect {
        Effect::SendAlso(self.conversation.message_to_proven(proven, &self.message(), self.expires_at))
    }

    fn message(&self) -> ServiceMessage {
        ServiceMessage::AuthChallenge(AuthChallenge {
            challenge: self.challenge.clone(),
            expires_at: self.expires_at.secs(),
            required_permissions: Vec::new(),
            subkey_proof: self.service_proof.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
