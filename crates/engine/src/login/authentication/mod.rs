//! Authentication: a user proves that they hold a key by responding to a challenge.
//!
//! ```text
//! asking ──approved──▶ finished   StatusUpdate {status: approved, main_key, granted_permissions, session_token?}
//! asking ──declined──▶ finished   StatusUpdate {status: declined, main_key, reason?}
//! asking ──expired───▶ finished   StatusUpdate {status: timeout}
//! asking ──a device proves its subkey──▶ asking   the challenge is sent again, to that device too
//! asking ──the remote signer signs─────▶ finished   as approved
//! asking ──the remote signer refuses───▶ finished   as declined; the signer stays, unless its session is of no more use
//! asking ──the remote signer's reply is invalid─▶ finished   StatusUpdate {status: error}; the signer is forgotten
//! ```
//!
//! `user_keys` determines whose reply is valid. If the user has logged in with a remote signer before, that signer gets
//! a request, too, and the first reply decides. If the signer is unreachable, the wallet decides.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged or stored |
//! | after the start, before or after the challenge is sent | the outbox sends it (again) until there is a reply or it expires |
//! | before a reply is committed | the challenge is sent again, and the wallet repeats its reply |
//! | after a reply | the event is in the stream; the repeated reply matches no open operation |
//! | while a request to a remote signer is pending | it is repeated in the same session |

pub(crate) mod start;

use std::fmt;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::login_proof::LoginChallenge;
use usher_protocol::message::{AuthChallenge, AuthResponse, AuthStatus, ServiceMessage, WalletMessage};
use usher_protocol::subkey::{Permission, SubkeyProof};

use crate::UnixMillis;
use crate::event_data::{EventData, LoginData};
use crate::login::signer_request::{SignerFault, SignerOutcome, SignerRequest};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, SignerReport, SignerUpdate, StateMachine, StepResult, emit};
use crate::ports::{CorrelationKey, LoginRecord, LoginRecordStatus, SignerSession, SignerSessionUpdate, UserSigner};

/// Most characters of a reason in the record of a login: wallets choose it.
const MAX_REASON_CHARS: usize = 500;

/// The state of an authentication.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    challenge: String,
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    expires_at: UnixMillis,
    service_proof: Option<SubkeyProof>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<Box<SignerRequest>>,
}

pub(crate) enum Reply {
    Ignored,
    /// A device has proven its key and gets the challenge, too.
    Proven(Effect),
    Answered {
        main_key: PublicKey,
        is_approved: bool,
        data: LoginData,
    },
    Expired,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("main_key", &self.user_keys.main_key()).finish_non_exhaustive()
    }
}

impl StateMachine for Authentication {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::AuthResponse(response) => vec![CorrelationKey::challenge(&response.challenge)],
            _ => Vec::new(),
        }
    }

    fn waits_for_signer(&self) -> bool {
        true
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Signer(_) | Input::Resumed if now >= self.expires_at => return StepResult::Ignored,
            Input::Signer(report) => return self.signer_reported(report, now),
            Input::Resumed => {
                let ask = self.signer.as_mut().and_then(|signer| signer.ask_again(self.expires_at));
                return ask.map_or(StepResult::Ignored, |ask| StepResult::Stepped(vec![ask]));
            }
            _ => {}
        }
        match self.reply(input, now) {
            Reply::Ignored => StepResult::Ignored,
            Reply::Proven(ask) => StepResult::Stepped(vec![ask]),
            Reply::Answered { data, .. } => StepResult::Stepped(self.finish(data, "wallet", now)),
            Reply::Expired => {
                let (status, reason) = ("timeout".to_owned(), Some("the user did not answer in time".to_owned()));
                let data = LoginData { status, reason, ..LoginData::default() };
                StepResult::Stepped(self.finish(data, "wallet", now))
            }
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at)
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![self.correlation()]
    }

    fn has_random_keys(&self) -> bool {
        true
    }
}

impl Authentication {
    /// Sends a challenge, which must be random, to `main_key`; `subkeys` may reply without a proof.
    pub fn start(
        challenge: String,
        main_key: PublicKey,
        subkeys: &[PublicKey],
        expires_at: UnixMillis,
        service_proof: Option<SubkeyProof>,
    ) -> (Self, Vec<Effect>) {
        let user_keys = UserKeys::new(main_key, subkeys);
        let state = Self { challenge, user_keys, expires_at, service_proof, signer: None };
        let ask = state.ask();
        (state, vec![ask])
    }

    /// Also sends a request to the remote signer of the user's earlier login.
    pub fn ask_signer(&mut self, session: SignerSession, challenge: LoginChallenge) -> Effect {
        self.signer.insert(Box::new(SignerRequest::to_kept(session, challenge))).ask(self.expires_at, None)
    }

    pub(crate) const fn requested_key(&self) -> PublicKey {
        self.user_keys.requested_key()
    }

    pub(crate) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::challenge(&self.challenge)
    }

    fn signer_reported(&mut self, report: &SignerReport, now: UnixMillis) -> StepResult {
        // Progress is not shown, and the signer has been connected before.
        if matches!(report.update, SignerUpdate::Progress(_)) {
            return StepResult::Ignored;
        }
        let Some(signer) = &mut self.signer else { return StepResult::Ignored };
        let (asked, session) = (self.user_keys.requested_key(), signer.session().clone());
        let mut left = None;
        let data = match signer.take(report, now) {
            SignerOutcome::Ignored => return StepResult::Ignored,
            SignerOutcome::Proven(key) => match self.user_keys.main_key_of(&key, None, Permission::Auth, now) {
                Some(main_key) => {
                    left = Some(signer.session().clone());
                    LoginData::approved(main_key, Vec::new(), None)
                }
                None => LoginData::error("the user's remote signer signed for another key"),
            },
            SignerOutcome::Declined { reason, session } => {
                left = session;
                LoginData::declined(asked, Some(reason))
            }
            SignerOutcome::Changed => match signer.fault() {
                Some(SignerFault::Refused) => LoginData::declined(asked, None),
                Some(SignerFault::Invalid) => LoginData::error("the user's remote signer signed something else"),
                // The wallet may still reply.
                Some(SignerFault::Unreachable | SignerFault::Busy) | None => return StepResult::Stepped(Vec::new()),
            },
        };
        let (session, update) = match left {
            Some(left) => (left, SignerSessionUpdate::Replace(session)),
            None => (session, SignerSessionUpdate::Remove),
        };
        let signer = Effect::KeepSigner(UserSigner { main_key: asked, session, update });
        StepResult::Stepped([signer].into_iter().chain(self.finish(data, "signer", now)).collect())
    }

    fn finish(&mut self, data: LoginData, method: &str, now: UnixMillis) -> Vec<Effect> {
        self.signer = None;
        let record = login_record(&data, Some(self.requested_key()), Some(method)).map(Effect::KeepLogin);
        [emit(EventData::Login(data), now)].into_iter().chain(record).chain([Effect::Finish]).collect()
    }

    pub(crate) fn reply(&mut self, input: &Input, now: UnixMillis) -> Reply {
        match input {
            Input::Timer if now >= self.expires_at => Reply::Expired,
            // Replies between the expiry and the timer are ignored: the wallet knows the expiry.
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
        let Some(main_key) = self.user_keys.main_key_of(author, proof, Permission::Auth, now) else {
            return Reply::Ignored;
        };
        let (is_approved, data) = match &response.status {
            AuthStatus::Approved { granted_permissions, session_token } => {
                (true, LoginData::approved(main_key, granted_permissions.clone(), session_token.clone()))
            }
            AuthStatus::Declined { reason } => (false, LoginData::declined(main_key, reason.clone())),
        };
        Reply::Answered { main_key, is_approved, data }
    }

    /// Handles the subkey proof of a device that could not read the challenge: it gets the challenge, too.
    fn proven(&mut self, author: &PublicKey, proof: &SubkeyProof, now: UnixMillis) -> Reply {
        if self.user_keys.prove(author, proof, Permission::Auth, now) {
            Reply::Proven(self.ask_too(author))
        } else {
            Reply::Ignored
        }
    }

    fn ask(&self) -> Effect {
        Effect::Send(self.user_keys.message(&self.message(), self.expires_at))
    }

    fn ask_too(&self, proven: &PublicKey) -> Effect {
        Effect::SendAlso(self.user_keys.message_to_proven(proven, &self.message(), self.expires_at))
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

/// The record of a login that ends with this event; `key` is the user whose key the event does not have.
pub(crate) fn login_record(data: &LoginData, key: Option<PublicKey>, method: Option<&str>) -> Option<LoginRecord> {
    let proven = data.main_key.as_deref().and_then(|key| PublicKey::from_hex(key).ok());
    Some(LoginRecord {
        reusable: None,
        status: LoginRecordStatus::parse(&data.status)?,
        method: method.map(str::to_owned),
        app: None,
        main_key: proven.or(key),
        reason: data.reason.as_ref().map(|reason| reason.chars().take(MAX_REASON_CHARS).collect()),
    })
}

#[cfg(test)]
mod remote_signer_tests;
#[cfg(test)]
mod tests;
