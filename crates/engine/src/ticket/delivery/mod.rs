//! The delivery of a token to a user.
//!
//! ```text
//! open ───────spent before it was sent──▶ over        StatusUpdate {status: error}
//! open ───────a round is due────────────▶ open        the mint is queried, and the token sent again unless it is spent
//! open ───────spent─────────────────────▶ over        CashuResponse {status: success, amount}
//! open ───────expired───────────────────▶ expired     StatusUpdate {status: timeout}
//! expired ────spent─────────────────────▶ over        CashuResponse {status: success, amount}: late
//! open, expired ─the app reclaims it────▶ reclaiming  it is no longer sent; the ticket wallet redeems it
//! reclaiming ─redeemed──────────────────▶ over        StatusUpdate {status: error}, unless it had expired
//! reclaiming ─the mint is down──────────▶ reclaiming  with back-off, without a limit
//! reclaiming ─the mint refuses──────────▶ open, or expired: the mint is queried at once whether the token is spent
//! expired ────the same token is sent again▶ over      by the new delivery
//! ```
//!
//! Relays do not store the message, and it is not acknowledged. So the token is stored before the app gets its
//! response, and sent in *rounds* until the mint reports it as spent. Each round is one Nostr event, sent a few times:
//! deployed wallets treat a new event as another token to import, which is harmless.
//!
//! | time since the start | a round every | the mint is queried before each round, and |
//! | --- | --- | --- |
//! | first minute | one round | after 5, 15, 35 and 65 s |
//! | up to 10 min | 2 min | 10 and 30 s after the event |
//! | up to 2 h | 5 min | 25 s after it |
//! | up to a day | 10 min | the same |
//! | after that | 30 min | the same |
//!
//! An unclaimed token is stored until the mint reports it as spent, or until it is reclaimed, without a time limit.
//! Such a report ends the delivery, but the app can still reclaim the token during retention, and the job of the ticket
//! wallet decides.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged; the app still has its token |
//! | between two steps of a round | the mint is queried again, and the round continues |
//! | after the spent token was seen, before the commit | the mint is queried again |
//! | after the reclaim was stored, before or after the mint has redeemed it | the request to the ticket wallet is repeated; it has the result of the same job |

mod schedule;
pub(crate) mod start;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::{CashuDirect, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use self::schedule::{checks_of_round, late_check, next_round, resend_for};
pub use self::view::{DeliveryStatus, DeliveryView, Reclaim};
use crate::UnixMillis;
use crate::event_data::{CashuResponseData, CashuStatusData, EventData};
use crate::machine::ticket_call::{lease, retry_at};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, StateMachine, StepResult, TicketCall, TicketReply, emit};
use crate::ports::{CorrelationKey, MintAuthToken, ReceiveTerms, TicketError, Token, TokenInfo, TokenState};
use crate::request_body;
use crate::request_body::{Aliased, CashuToken, Identifier, Key, RecipientKey, Subkeys};

/// How long the first check may delay the first event.
const FIRST_CHECK: Duration = Duration::from_secs(5);

/// The longest pause between attempts to redeem a reclaimed token at an unresponsive mint.
const MAX_PAUSE: Duration = Duration::from_secs(6 * 3600);

request_body! {
    /// Sends a ticket to a user.
    #[derive(Clone, Debug)]
    pub struct SendTicket, SendTicketDraft = "SendTicketRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "token": "cashuBo2FteBtodHRwczovL21pbnQuZXhhbXBsZS5jb21hdWVtdWx0aWF0gaJhaUgArSaLR8qGYGFwgaNhYQFhc3hA",
    } {
        /// Who gets it: 64 hex characters. Required, here or as `recipient_key`.
        main_key: Aliased<Key, RecipientKey>,
        /// Keys of the user's devices that get it, too; usually none, at most 8.
        subkeys: Subkeys,
        /// The token, of any mint and unit. A message has room for 40,000 bytes.
        token: CashuToken,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
    }
}

/// The state of a delivery.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketDelivery {
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    reference: Option<String>,
    token: Token,
    mint_url: String,
    unit: String,
    amount: u64,
    started_at: UnixMillis,
    expires_at: UnixMillis,
    phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Open {
        rounds: u32,
        round_at: UnixMillis,
        check: Check,
        /// Whether the mint is being queried; `next` is then when the reply counts as lost.
        asked: bool,
        next: UnixMillis,
    },
    Expired {
        checks: u32,
        next: UnixMillis,
    },
    Reclaiming {
        auth: Option<MintAuthToken>,
        expired: bool,
        tries: u32,
        next: UnixMillis,
    },
    /// Spent by somebody else, usually the user.
    Spent,
    Reclaimed {
        /// The received amount, in the token's unit.
        amount: u64,
    },
    /// A later delivery sends the same token.
    Superseded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    BeforeRound,
    /// This many checks of the round were made before.
    InRound(usize),
    Last,
}

usher_protocol::debug_shows!(TicketDelivery { mint_url, unit, amount });

impl StateMachine for TicketDelivery {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if self.wake_at().is_some_and(|at| now >= at) => self.woken(now),
            Input::Resumed => self.resumed(now),
            Input::Ticket(TicketReply::State(state)) => self.checked(state.as_ref().ok().copied(), now),
            Input::Ticket(TicketReply::Redeemed(result)) => match result {
                Ok(amount) => self.reclaimed(*amount, now),
                Err(failure) => self.not_reclaimed(failure, now),
            },
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if matches!(self.phase, Phase::Open { .. })
                    && self.user_keys.prove(author, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(self.send_also(author, now))
            }
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Open { next, .. } | Phase::Expired { next, .. } | Phase::Reclaiming { next, .. } => Some(*next),
            Phase::Spent | Phase::Reclaimed { .. } | Phase::Superseded => None,
        }
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![CorrelationKey::delivery(&self.token)]
    }

    fn is_done(&self) -> bool {
        match &self.phase {
            Phase::Open { .. } => false,
            Phase::Reclaiming { expired, .. } => *expired,
            Phase::Expired { .. } | Phase::Spent | Phase::Reclaimed { .. } | Phase::Superseded => true,
        }
    }

    fn lingers(&self) -> bool {
        true
    }
}

impl TicketDelivery {
    /// Sends a token to a user, once the mint has confirmed that it is unspent.
    pub fn start(request: SendTicket, info: TokenInfo, expires_at: UnixMillis, now: UnixMillis) -> (Self, Vec<Effect>) {
        let TokenInfo { mint_url, unit, amount, .. } = info;
        let phase = Phase::Open {
            rounds: 0,
            round_at: now,
            check: Check::BeforeRound,
            asked: true,
            next: now.plus(FIRST_CHECK),
        };
        let state = Self {
            user_keys: UserKeys::new(request.main_key, &request.subkeys),
            reference: request.reference,
            token: request.token,
            mint_url,
            unit,
            amount,
            started_at: now,
            expires_at,
            phase,
        };
        let check = state.check();
        (state, vec![check])
    }

    /// The delivery for the app; `None` if it is over.
    pub fn view(&self) -> Option<DeliveryView> {
        let status = match &self.phase {
            Phase::Open { rounds: 0, .. } => DeliveryStatus::Queued,
            Phase::Open { .. } => DeliveryStatus::Sent,
            Phase::Expired { .. } => DeliveryStatus::Timeout,
            Phase::Reclaiming { .. } => DeliveryStatus::Reclaiming,
            Phase::Spent | Phase::Reclaimed { .. } | Phase::Superseded => return None,
        };
        Some(DeliveryView {
            main_key: self.user_keys.main_key(),
            mint_url: self.mint_url.clone(),
            unit: self.unit.clone(),
            amount: self.amount,
            status,
            expires_at: self.expires_at.secs(),
        })
    }

    /// Whether its user is the one that the app means by `key`.
    pub fn is_to(&self, key: &PublicKey) -> bool {
        self.user_keys.is_with(key)
    }

    /// Whether the app is reclaiming it.
    pub const fn is_being_reclaimed(&self) -> bool {
        matches!(self.phase, Phase::Reclaiming { .. })
    }

    /// Reclaims the token; `auth` is for the mint, if it requires it.
    pub fn reclaim(&mut self, auth: Option<MintAuthToken>, now: UnixMillis) -> Reclaim {
        let expired = match &self.phase {
            Phase::Open { .. } => false,
            Phase::Expired { .. } => true,
            Phase::Reclaiming { auth, .. } => return Reclaim::UnderWay(self.terms(auth.clone())),
            Phase::Reclaimed { amount } => return Reclaim::Done(*amount),
            Phase::Spent => return Reclaim::AfterEnd(self.terms(auth)),
            Phase::Superseded => return Reclaim::Gone,
        };
        let terms = self.terms(auth.clone());
        self.phase = Phase::Reclaiming { auth, expired, tries: 0, next: lease(now) };
        Reclaim::Begun(vec![Effect::ClearOutbox], terms)
    }

    /// Ends an expired delivery because the app sends the token again; `None` if it has not expired.
    pub fn supersede(&mut self) -> Option<Vec<Effect>> {
        let expired = matches!(self.phase, Phase::Expired { .. });
        expired.then(|| {
            self.phase = Phase::Superseded;
            vec![Effect::Finish]
        })
    }

    fn woken(&mut self, now: UnixMillis) -> StepResult {
        let expires_at = self.expires_at;
        match &mut self.phase {
            Phase::Open { check, asked, next, .. } if now >= expires_at && *check != Check::Last => {
                (*check, *asked, *next) = (Check::Last, true, lease(now));
                StepResult::Stepped(vec![self.check()])
            }
            // The reply is lost or late: the round continues without it.
            Phase::Open { asked: true, .. } => self.go_on(now),
            Phase::Open { asked, next, .. } => {
                (*asked, *next) = (true, lease(now));
                StepResult::Stepped(vec![self.check()])
            }
            Phase::Expired { next, .. } => {
                *next = lease(now);
                StepResult::Stepped(vec![self.check()])
            }
            Phase::Reclaiming { auth, next, .. } => {
                *next = lease(now);
                let auth = auth.clone();
                StepResult::Stepped(vec![Effect::CallTicketWallet(TicketCall::Redeem(self.terms(auth)))])
            }
            Phase::Spent | Phase::Reclaimed { .. } | Phase::Superseded => StepResult::Ignored,
        }
    }

    fn resumed(&mut self, now: UnixMillis) -> StepResult {
        match &mut self.phase {
            Phase::Open { asked: true, next, .. } => {
                *next = lease(now);
                StepResult::Stepped(vec![self.check()])
            }
            Phase::Reclaiming { .. } => self.woken(now),
            _ => StepResult::Ignored,
        }
    }

    fn checked(&mut self, state: Option<TokenState>, now: UnixMillis) -> StepResult {
        match &mut self.phase {
            Phase::Open { rounds: 0, .. } if state == Some(TokenState::Spent) => {
                self.end("the token was spent before it was sent", Phase::Spent, now)
            }
            Phase::Open { .. } | Phase::Expired { .. } if state == Some(TokenState::Spent) => self.redeemed(now),
            Phase::Open { asked: true, .. } => self.go_on(now),
            Phase::Expired { checks, next } => {
                *checks = checks.saturating_add(1);
                *next = now.plus(late_check(*checks));
                StepResult::Stepped(Vec::new())
            }
            // While it is being reclaimed, the service itself may have spent it.
            _ => StepResult::Ignored,
        }
    }

    fn go_on(&mut self, now: UnixMillis) -> StepResult {
        let (started_at, expires_at) = (self.started_at, self.expires_at);
        let Phase::Open { rounds, round_at, check, asked, .. } = &mut self.phase else {
            return StepResult::Ignored;
        };
        *asked = false;
        let effects = match *check {
            Check::BeforeRound => {
                *rounds = rounds.saturating_add(1);
                *round_at = now;
                *check = Check::InRound(0);
                vec![self.send(now)]
            }
            Check::InRound(made) if made + 1 < checks_of_round(started_at, *round_at).len() => {
                *check = Check::InRound(made + 1);
                Vec::new()
            }
            Check::InRound(_) => {
                *check = Check::BeforeRound;
                vec![Effect::ClearOutbox]
            }
            Check::Last => {
                self.phase = Phase::Expired { checks: 0, next: now.plus(late_check(0)) };
                let data = self.status("timeout", "the user did not redeem the token in time; it can be reclaimed");
                return StepResult::Stepped(vec![Effect::ClearOutbox, emit(data, now)]);
            }
        };
        if let Phase::Open { round_at, check, next, .. } = &mut self.phase {
            let after = match *check {
                Check::InRound(nth) => checks_of_round(started_at, *round_at).get(nth).copied().unwrap_or_default(),
                Check::BeforeRound | Check::Last => next_round(started_at, *round_at),
            };
            *next = round_at.plus(after).max(now).min(expires_at);
        }
        StepResult::Stepped(effects)
    }

    fn redeemed(&mut self, now: UnixMillis) -> StepResult {
        self.phase = Phase::Spent;
        let data = EventData::CashuResponse(CashuResponseData {
            status: "success".to_owned(),
            passed: None,
            token: None,
            amount: Some(self.amount),
            unit: Some(self.unit.clone()),
            mint_url: Some(self.mint_url.clone()),
            reason: None,
            request_id: self.reference.clone(),
        });
        StepResult::Stepped(vec![emit(data, now), Effect::Finish])
    }

    fn reclaimed(&mut self, amount: u64, now: UnixMillis) -> StepResult {
        let Phase::Reclaiming { expired, .. } = self.phase else { return StepResult::Ignored };
        let over = Phase::Reclaimed { amount };
        if expired {
            self.phase = over;
            return StepResult::Stepped(vec![Effect::Finish]);
        }
        self.end("the token was reclaimed", over, now)
    }

    fn not_reclaimed(&mut self, failure: &TicketError, now: UnixMillis) -> StepResult {
        let Phase::Reclaiming { expired, tries, next, .. } = &mut self.phase else { return StepResult::Ignored };
        match failure {
            failure if failure.is_definite() => {
                // Nothing was redeemed. The user may have been faster: the mint is queried at once.
                self.phase = if *expired {
                    Phase::Expired { checks: 0, next: now }
                } else {
                    let check = Check::BeforeRound;
                    Phase::Open { rounds: 1, round_at: now, check, asked: false, next: now }
                };
                StepResult::Stepped(Vec::new())
            }
            _ => {
                *tries = tries.saturating_add(1);
                *next = retry_at(*tries, MAX_PAUSE, now);
                StepResult::Stepped(Vec::new())
            }
        }
    }

    fn end(&mut self, reason: &str, over: Phase, now: UnixMillis) -> StepResult {
        self.phase = over;
        StepResult::Stepped(vec![emit(self.status("error", reason), now), Effect::Finish])
    }

    fn status(&self, status: &str, reason: &str) -> EventData {
        let request_id = self.reference.clone();
        EventData::CashuStatus(CashuStatusData { request_id, ..CashuStatusData::new(status, reason) })
    }

    fn check(&self) -> Effect {
        Effect::CallTicketWallet(TicketCall::CheckState { token: self.token.clone(), mint_url: self.mint_url.clone() })
    }

    fn terms(&self, auth: Option<MintAuthToken>) -> ReceiveTerms {
        ReceiveTerms {
            token: self.token.clone(),
            mint_url: self.mint_url.clone(),
            unit: self.unit.clone(),
            at_least: 0,
            auth,
        }
    }

    fn send(&self, now: UnixMillis) -> Effect {
        Effect::Send(self.user_keys.message(&self.message(), self.resend_until(now)))
    }

    /// Also sends the token to a key that has just proven itself: now during a round, otherwise in the next one.
    fn send_also(&self, proven: &PublicKey, now: UnixMillis) -> Vec<Effect> {
        let Phase::Open { check: Check::InRound(_), .. } = self.phase else { return Vec::new() };
        let message = self.user_keys.message_to_proven(proven, &self.message(), self.resend_until(now));
        vec![Effect::SendAlso(message)]
    }

    fn resend_until(&self, now: UnixMillis) -> UnixMillis {
        now.plus(resend_for(self.started_at, now)).min(self.expires_at)
    }

    fn message(&self) -> ServiceMessage {
        ServiceMessage::CashuDirect(CashuDirect { token: self.token.0.clone().into() })
    }
}

#[cfg(test)]
mod tests;
