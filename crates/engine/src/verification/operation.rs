//! An age verification: staff or a provider decide whether a user is old enough; a user who is gets a proof, which is a
//! Cashu token.
//!
//! ```text
//! open ─────a provider begins a check───────▶ open       its result is a decision; the check can be restarted
//! open ─────expired─────────────────────────▶ over       StatusUpdate {status: timeout}
//! open ─────approved, a mint is configured──▶ minting    the proof is a job of the ticket wallet
//! open ─────approved, no mint───────────────▶ over       CashuResponse {status: insufficient_funds, passed: true, reason}
//! open ─────rejected────────────────────────▶ replying
//! minting ──the proof───────────────────────▶ replying
//! minting ──the mint refuses, or is down────▶ giving up  the ticket wallet gives up the job
//! giving up ─the proof, issued meanwhile────▶ replying
//! giving up ─no proof───────────────────────▶ replying
//! replying ─the reply arrives───────────────▶ over       CashuResponse {status: success | rejected | insufficient_funds}
//! replying ─no relay delivers it in time────▶ over       the same
//! ```
//!
//! The session has its own key, and exchanges messages on Nostr like any other: the service requests a token from this
//! key (29500), and once the session is decided, the key replies as a user's wallet would (29501). So an external
//! verifier with the key can take this role. If relays do not deliver the reply within seconds, the session ends with
//! the same result without it.
//!
//! A session never ends without a proof before the ticket wallet has given up the job: what an unresponsive mint signs
//! after that joins the service's own balance.
//!
//! Only pass or fail is kept about the user. For a provider's checks see `provider_check`.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before a decision is committed | it was not acknowledged; the session is open |
//! | while a provider checks | the session is open: a provider that can be polled is polled again, otherwise the user starts again |
//! | while minting | the request to the ticket wallet is repeated; it continues the same job |
//! | while giving up | the request to the ticket wallet is repeated |
//! | while replying | the reply is sent again |
//! | after the event is committed | the session is over; a reply that arrives late finds nothing open |

mod age_check;
mod proof_issuance;
mod provider_check;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::message::ServiceMessage;
use usher_protocol::{Keys, PublicKey, text};

use crate::UnixMillis;
use crate::event_data::{CashuResponseData, CashuStatusData, EventData};
use crate::machine::ticket_call::lease;
use crate::machine::{Effect, Input, StateMachine, StepResult, TicketCall, emit};
use crate::ports::{AgeCheckResult, CorrelationKey, MintTerms, OutboxMessage, Token};

/// How long an unresponsive mint is retried after the decision, while the user waits.
const MINT_TIMEOUT: Duration = Duration::from_secs(120);

const MAX_PAUSE: Duration = Duration::from_secs(8);

/// Attempts to have the ticket wallet give up the job, if it cannot read or write its record.
const GIVE_UP_TRIES: u32 = 20;

/// How long to wait after each copy of the reply, in milliseconds. A relay delivers within tens of milliseconds.
const REPLY_PAUSES: [u64; 3] = [1_000, 2_000, 2_000];

/// The parameters of a new session.
#[derive(Clone, Debug)]
pub struct VerificationTerms {
    /// The session's own keys: random.
    pub keys: Keys,
    /// The service's key on Nostr, to which replies are sent.
    pub service_key: PublicKey,
    /// The secret in the page's address: random.
    pub page_secret: String,
    /// The id of the request on Nostr: random.
    pub request_id: String,
    /// The minimum age, in years.
    pub minimum_age: u64,
    /// The proof; `None` if no mint is configured.
    pub proof: Option<MintTerms>,
    /// Until when it can be decided.
    pub expires_at: UnixMillis,
    /// Where the page redirects at the end.
    pub return_url: Option<String>,
    /// The number by which staff find it: unique among open sessions.
    pub number: u32,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgeDecision {
    /// The user is old enough.
    Approved,
    /// The user is not, or did not prove it.
    Rejected {
        /// The reason, for the app.
        reason: Option<String>,
    },
}

/// Why a decision was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFault {
    /// The session is decided already.
    Decided,
    /// The session has expired.
    Expired,
}

usher_protocol::words! {
    /// The state of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VerificationState {
        /// Not decided yet.
        Open = "open",
        /// Not decided yet; a provider is checking.
        Checking = "checking",
        /// The user has passed, and the proof is being minted or delivered.
        Issuing = "issuing",
        /// The user has passed and the proof was issued.
        Passed = "passed",
        /// The user has not passed.
        Rejected = "rejected",
        /// The user has passed, but no proof could be issued.
        NotIssued = "not-issued",
        /// Expired.
        Expired = "expired",
    }
}

/// The state of a verification session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationSession {
    key: PublicKey,
    /// In hex; removed at the end of the session.
    secret_key: Option<String>,
    service_key: PublicKey,
    page_secret: String,
    request_id: String,
    minimum_age: u64,
    proof: Option<MintTerms>,
    expires_at: UnixMillis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    /// `None` in states stored before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(default)]
    checks: u32,
    /// The browser that began the last check, until it has returned, if it can return only once.
    #[serde(default)]
    awaited: Option<AwaitedBrowser>,
    phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Open {
        #[serde(default)]
        check: Option<AgeCheck>,
        #[serde(default)]
        polls: u32,
        next: Option<UnixMillis>,
    },
    Minting {
        since: UnixMillis,
        tries: u32,
        next: UnixMillis,
    },
    GivingUp {
        reason: String,
        tries: u32,
        next: UnixMillis,
    },
    Replying {
        result: SessionResult,
        /// The `created_at` of the reply's event, the same for each copy.
        made_at: UnixMillis,
        sent: usize,
        next: UnixMillis,
    },
    /// The app has the result.
    #[serde(rename = "over")]
    Ended {
        end: End,
    },
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum SessionResult {
    Passed { token: Token },
    Rejected { reason: Option<String> },
    NotIssued { reason: String },
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Passed,
    Rejected,
    NotIssued,
    Expired,
}

impl fmt::Debug for VerificationSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationSession").field("state", &self.state()).finish_non_exhaustive()
    }
}

impl StateMachine for VerificationSession {
    fn is_about(&self, _user: &PublicKey) -> bool {
        false
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match &self.phase {
            Phase::Open { .. } => self.step_open(input, now),
            Phase::Minting { .. } => self.step_minting(input, now),
            Phase::GivingUp { .. } => self.step_giving_up(input, now),
            Phase::Replying { .. } => self.step_replying(input, now),
            Phase::Ended { .. } => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Open { next, .. } => Some(next.map_or(self.expires_at, |next| next.min(self.expires_at))),
            Phase::Minting { next, .. } | Phase::GivingUp { next, .. } | Phase::Replying { next, .. } => Some(*next),
            Phase::Ended { .. } => None,
        }
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        let number = self.number.map(CorrelationKey::age_check);
        [CorrelationKey::request(&self.request_id)].into_iter().chain(number).collect()
    }
}

impl VerificationSession {
    /// Opens a session.
    pub fn start(terms: VerificationTerms) -> (Self, Vec<Effect>) {
        let session = Self {
            key: terms.keys.public_key(),
            secret_key: Some(terms.keys.secret_key().to_secret_hex()),
            service_key: terms.service_key,
            page_secret: terms.page_secret,
            request_id: terms.request_id,
            minimum_age: terms.minimum_age,
            proof: terms.proof,
            expires_at: terms.expires_at,
            return_url: terms.return_url,
            number: Some(terms.number),
            checks: 0,
            awaited: None,
            phase: Phase::Open { check: None, polls: 0, next: None },
        };
        let ask = session.request().map(|request| {
            let message = ServiceMessage::CashuRequest(request);
            Effect::Send(OutboxMessage {
                kind: message.kind(),
                content: message.to_json(),
                main_key: session.key,
                recipients: vec![session.key],
                participants: vec![session.key],
                until: session.expires_at,
                made_at: UnixMillis(0),
                not_before: UnixMillis(0),
            })
        });
        (session, ask.into_iter().collect())
    }

    /// Its state.
    pub const fn state(&self) -> VerificationState {
        match &self.phase {
            Phase::Open { check: None, .. } => VerificationState::Open,
            Phase::Open { check: Some(_), .. } => VerificationState::Checking,
            Phase::Minting { .. } | Phase::GivingUp { .. } => VerificationState::Issuing,
            Phase::Replying { result, .. } => match result {
                SessionResult::Passed { .. } => VerificationState::Issuing,
                SessionResult::Rejected { .. } => VerificationState::Rejected,
                SessionResult::NotIssued { .. } => VerificationState::NotIssued,
            },
            Phase::Ended { end } => match end {
                End::Passed => VerificationState::Passed,
                End::Rejected => VerificationState::Rejected,
                End::NotIssued => VerificationState::NotIssued,
                End::Expired => VerificationState::Expired,
            },
        }
    }

    /// The number by which staff find it.
    pub const fn number(&self) -> Option<u32> {
        self.number
    }

    /// The minimum age in years.
    pub const fn minimum_age(&self) -> u64 {
        self.minimum_age
    }

    /// Until when it can be decided.
    pub const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// Where the page redirects at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// The secret in its page's address.
    pub fn page_secret(&self) -> &str {
        &self.page_secret
    }

    /// Records a decision.
    ///
    /// # Errors
    /// [`DecisionFault`]; nothing has changed then.
    pub fn decide(&mut self, decision: &AgeDecision, now: UnixMillis) -> Result<Vec<Effect>, DecisionFault> {
        match self.phase {
            Phase::Open { .. } if now < self.expires_at => {}
            Phase::Open { .. } | Phase::Ended { end: End::Expired } => return Err(DecisionFault::Expired),
            Phase::Minting { .. } | Phase::GivingUp { .. } | Phase::Replying { .. } | Phase::Ended { .. } => {
                return Err(DecisionFault::Decided);
            }
        }
        Ok(match (decision, &self.proof) {
            (AgeDecision::Rejected { reason }, _) => {
                let reason = reason.as_deref().map(|reason| text::clean(reason, text::MAX_REASON_CHARS));
                let reason = reason.filter(|reason| !reason.is_empty());
                self.reply(SessionResult::Rejected { reason }, now)
            }
            (AgeDecision::Approved, None) => {
                let reason = "no mint is configured (verification.mint_url)".to_owned();
                self.reply(SessionResult::NotIssued { reason }, now)
            }
            (AgeDecision::Approved, Some(proof)) => {
                let ask = Effect::CallTicketWallet(TicketCall::Mint(proof.clone()));
                self.phase = Phase::Minting { since: now, tries: 0, next: lease(now) };
                vec![ask]
            }
        })
    }

    fn step_open(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        if now >= self.expires_at {
            return if matches!(input, Input::Timer) { self.expire(now) } else { StepResult::Ignored };
        }
        let Phase::Open { check, polls, next } = &mut self.phase else { return StepResult::Ignored };
        match input {
            Input::Timer if next.is_some_and(|next| now >= next) => {
                let Some(check) = check.as_ref().filter(|check| check.polled) else {
                    *next = None;
                    return StepResult::Stepped(Vec::new());
                };
                *polls = polls.saturating_add(1);
                *next = Some(now.plus(age_check::poll_pause(*polls)));
                StepResult::Stepped(vec![Effect::CheckAge(check.pending.clone())])
            }
            Input::AgeChecked { pending, result } if check.as_ref().is_some_and(|check| check.pending == *pending) => {
                let decision = match result {
                    AgeCheckResult::Passed => AgeDecision::Approved,
                    AgeCheckResult::Failed { reason } => AgeDecision::Rejected { reason: Some((*reason).to_owned()) },
                    AgeCheckResult::Pending => return StepResult::Ignored,
                    AgeCheckResult::Cancelled => {
                        (*check, *next) = (None, None);
                        return StepResult::Stepped(Vec::new());
                    }
                };
                self.decide(&decision, now).map_or(StepResult::Ignored, StepResult::Stepped)
            }
            _ => StepResult::Ignored,
        }
    }

    fn end(&mut self, now: UnixMillis) -> Vec<Effect> {
        let Phase::Replying { result, .. } = &self.phase else { return Vec::new() };
        let proof = self.proof.as_ref();
        let data = CashuResponseData {
            status: String::new(),
            passed: None,
            token: None,
            amount: None,
            unit: proof.map(|proof| proof.unit.clone()),
            mint_url: proof.map(|proof| proof.mint_url.clone()),
            reason: None,
            request_id: None,
        };
        let (end, data) = match result.clone() {
            SessionResult::Passed { token } => {
                let amount = proof.map(|proof| proof.amount);
                let status = "success".to_owned();
                (End::Passed, CashuResponseData { status, passed: Some(true), token: Some(token.0), amount, ..data })
            }
            SessionResult::Rejected { reason } => {
                let status = "rejected".to_owned();
                (End::Rejected, CashuResponseData { status, passed: Some(false), reason, ..data })
            }
            SessionResult::NotIssued { reason } => {
                let status = "insufficient_funds".to_owned();
                (End::NotIssued, CashuResponseData { status, passed: Some(true), reason: Some(reason), ..data })
            }
        };
        self.close(end, EventData::CashuResponse(data), now)
    }

    fn expire(&mut self, now: UnixMillis) -> StepResult {
        let data = CashuStatusData::new("timeout", "nobody decided in time");
        StepResult::Stepped(self.close(End::Expired, EventData::CashuStatus(data), now))
    }

    fn close(&mut self, end: End, data: EventData, now: UnixMillis) -> Vec<Effect> {
        self.phase = Phase::Ended { end };
        self.secret_key = None;
        if let Some(proof) = &mut self.proof {
            proof.auth = None;
        }
        vec![emit(data, now), Effect::Finish]
    }
}

pub use age_check::{AgeCheck, AwaitedBrowser, BeginFault, CheckReturn};

#[cfg(test)]
mod tests;
