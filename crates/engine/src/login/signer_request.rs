//! The stored request of an operation to a user's remote signer (`kernel/remote_signer_queue.rs`). After a restart the
//! same request is repeated in the same session.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::login_proof::{self, LoginChallenge, LoginProofError};

use crate::machine::{Effect, SignerCall, SignerReport, SignerUpdate};
use crate::ports::{RemoteSignerError, SignedEvent, SignerProgress, SignerSession, WantedEvent};
use crate::{ClientNetwork, UnixMillis};

/// A request to a remote signer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignerRequest {
    /// Counts the signers used by the operation: reports about an earlier one are ignored.
    number: u32,
    session: SignerSession,
    url: String,
    challenge: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_kept: bool,
    status: SignerStatus,
}

/// The status of a request to a signer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SignerStatus {
    /// No relay delivers the signer's events yet.
    Starting,
    /// The signer may reply.
    Listening,
    /// The signer has replied and asks its user to sign.
    Connected,
    /// The user must confirm on this page of their signer.
    Confirming {
        /// Its address, safe to be shown as a link.
        page: String,
    },
    /// The signer does not reply; the user may have to open it.
    Silent,
    /// Failed; the user may try again.
    Failed {
        /// The reason.
        fault: SignerFault,
    },
}

/// Why there is no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignerFault {
    /// The signer refuses the connection: its address was used before, or its user declines.
    Refused,
    /// The signer sent something other than the requested event.
    Invalid,
    /// No relay reaches it.
    Unreachable,
    /// Too many requests to signers are pending.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignerOutcome {
    Ignored,
    Changed,
    Proven(PublicKey),
    Declined {
        reason: String,
        /// The session, if it can be used again.
        session: Option<SignerSession>,
    },
}

usher_protocol::debug_shows!(SignerRequest { status });

impl SignerRequest {
    pub(crate) fn new(session: SignerSession, challenge: LoginChallenge, earlier: Option<&Self>) -> Self {
        let number = earlier.map_or(1, |earlier| earlier.number.saturating_add(1));
        let LoginChallenge { url, challenge } = challenge;
        Self { number, session, url, challenge, is_kept: false, status: SignerStatus::Starting }
    }

    pub(crate) fn to_kept(session: SignerSession, challenge: LoginChallenge) -> Self {
        Self { is_kept: true, ..Self::new(session, challenge, None) }
    }

    /// Its status.
    pub const fn status(&self) -> &SignerStatus {
        &self.status
    }

    /// The session with the signer.
    pub const fn session(&self) -> &SignerSession {
        &self.session
    }

    pub(crate) const fn fault(&self) -> Option<SignerFault> {
        match self.status {
            SignerStatus::Failed { fault } => Some(fault),
            _ => None,
        }
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn ask_again(&mut self, until: UnixMillis) -> Option<Effect> {
        if matches!(self.status, SignerStatus::Failed { .. }) {
            return None;
        }
        // No relay delivers yet, and the signer's confirmation page was for another request.
        self.status = SignerStatus::Starting;
        Some(self.ask(until, None))
    }

    pub(crate) fn ask(&self, until: UnixMillis, network: Option<ClientNetwork>) -> Effect {
        let tags = self.proof().tags().iter().map(|tag| tag.iter().map(|&text| text.to_owned()).collect()).collect();
        let wanted = WantedEvent { kind: login_proof::KIND, content: String::new(), tags };
        let (number, session, is_kept) = (self.number, self.session.clone(), self.is_kept);
        Effect::AskSigner(Box::new(SignerCall { number, session, wanted, until, is_kept, network }))
    }

    pub(crate) fn take(&mut self, report: &SignerReport, now: UnixMillis) -> SignerOutcome {
        if report.number != self.number || matches!(self.status, SignerStatus::Failed { .. }) {
            return SignerOutcome::Ignored;
        }
        let status = match &report.update {
            SignerUpdate::Progress(SignerProgress::Listening) if self.status != SignerStatus::Starting => {
                return SignerOutcome::Ignored;
            }
            // The first page stays, so that a signer that sends many has no effect.
            SignerUpdate::Progress(SignerProgress::Confirm(_)) if self.is_confirming() => {
                return SignerOutcome::Ignored;
            }
            SignerUpdate::Progress(SignerProgress::Listening) => SignerStatus::Listening,
            SignerUpdate::Progress(SignerProgress::Connected(session)) => {
                self.session = session.clone();
                SignerStatus::Connected
            }
            SignerUpdate::Progress(SignerProgress::Confirm(page)) => SignerStatus::Confirming { page: page.clone() },
            SignerUpdate::Progress(SignerProgress::Silent) => SignerStatus::Silent,
            SignerUpdate::Ended(Ok(signed)) => match self.verify(signed, now) {
                Ok(main_key) => {
                    self.session = signed.session.clone();
                    return SignerOutcome::Proven(main_key);
                }
                Err(_) => SignerStatus::Failed { fault: SignerFault::Invalid },
            },
            SignerUpdate::Ended(Err(RemoteSignerError::SignatureRefused { reason, session })) => {
                return SignerOutcome::Declined { reason: reason.clone(), session: session.clone() };
            }
            SignerUpdate::Ended(Err(error)) => SignerStatus::Failed { fault: SignerFault::of(error) },
        };
        if status == self.status && !matches!(report.update, SignerUpdate::Progress(SignerProgress::Connected(_))) {
            return SignerOutcome::Ignored;
        }
        self.status = status;
        SignerOutcome::Changed
    }

    const fn is_confirming(&self) -> bool {
        matches!(self.status, SignerStatus::Confirming { .. })
    }

    /// The event may be old, because signers keep the time of the request; the challenge is unique.
    fn verify(&self, signed: &SignedEvent, now: UnixMillis) -> Result<PublicKey, LoginProofError> {
        let created_at = signed.event.created_at.as_secs();
        self.proof().verify(&signed.event, created_at.min(now.secs()))
    }

    fn proof(&self) -> LoginChallenge {
        LoginChallenge { url: self.url.clone(), challenge: self.challenge.clone() }
    }
}

impl SignerFault {
    const fn of(error: &RemoteSignerError) -> Self {
        match error {
            RemoteSignerError::ConnectionRefused(_) | RemoteSignerError::SignatureRefused { .. } => Self::Refused,
            RemoteSignerError::Invalid(_) => Self::Invalid,
            RemoteSignerError::Unreachable | RemoteSignerError::Unusable => Self::Unreachable,
            RemoteSignerError::Busy => Self::Busy,
        }
    }
}
