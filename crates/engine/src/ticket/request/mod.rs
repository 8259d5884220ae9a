//! A request to a user for a token.
//!
//! ```text
//! asking ───a token─────────────────▶ checking   the token is stored, and only then the mint is queried
//! asking ───not enough of it────────▶ finished   CashuResponse {status: insufficient_funds}
//! asking ───refused─────────────────▶ finished   CashuResponse {status: rejected, reason?}
//! asking ───expired─────────────────▶ finished   StatusUpdate {status: timeout}
//! checking ─verified────────────────▶ finished   CashuResponse {status: success, token, amount}
//! checking ─redeemed────────────────▶ finished   CashuResponse {status: success, amount}
//! checking ─not the requested token─▶ finished   StatusUpdate {status: error, reason, token?}
//! checking ─the mint is down────────▶ checking   with back-off, until a day after the request's expiry
//! checking ─and after that──────────▶ given up   StatusUpdate {status: error, reason, token}
//! given up ─verified or redeemed────▶ finished   CashuResponse {status: success, …}: late, but not lost
//! given up ─refused, or a month──────▶ finished
//! ```
//!
//! Only the first valid reply is used, so a user can cause the work of one token at most. *Success* is reported only
//! for a token that the mint confirms, of the requested mint and unit and worth at least the amount after the mint's
//! fees. A refused token that may have a value is in the `error` event, so that the app can return it.
//!
//! After giving up, the operation queries the ticket wallet for the result for another month: the wallet may have
//! swapped the token, and nobody else has the new one.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged or stored |
//! | after the start, before or after the request is sent | the outbox sends it (again) until answered or expired |
//! | before the user's reply is committed | the request goes out again, and the wallet repeats its reply |
//! | after it, before or after the mint is queried | the request to the ticket wallet is repeated; it continues the same job |
//! | after the result is committed | the event is in the stream; a repeated reply finds nothing open |

pub(crate) mod start;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::{self, CashuResponse, CashuStatus, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use crate::UnixMillis;
use crate::event_data::{CashuResponseData, CashuStatusData, EventData};
use crate::machine::ticket_call::{lease, retry_at};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, StateMachine, StepResult, TicketCall, TicketReply, VerifiedToken, emit};
use crate::ports::{CorrelationKey, MintAuthToken, ReceiveTerms, TicketError, Token, TokenFault};
use crate::request_body;
use crate::request_body::{
    Aliased, Flag, Identifier, Key, MintAuth, MintUrl, OrDefault, RecipientKey, StaticAuthToken, Subkeys, TicketAmount,
    TicketUnit, UnixSeconds,
};

/// The longest pause between attempts at an unresponsive mint.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// How long after the request's expiry the mint is tried before the app gets an event.
const MINT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

const LATE_PAUSE: Duration = Duration::from_secs(6 * 3600);

/// How long attempts continue after that.
const LATE: Duration = Duration::from_secs(30 * 24 * 3600);

request_body! {
    /// Asks a user for a ticket.
    #[derive(Clone, Debug)]
    pub struct RequestTicket, RequestTicketDraft = "TicketRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "mint_url": "https://mint.example",
        "unit": "multi",
        "amount": 1,
    } {
        /// Who is asked: 64 hex characters. Required, here or as `recipient_key`.
        main_key: Aliased<Key, RecipientKey>,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// The mint that the ticket must be of: an `http` or `https` URL.
        mint_url: MintUrl,
        /// The unit that it must be in: `sat`, or one of the mint's own, such as `multi`.
        unit: TicketUnit,
        /// What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less is refused.
        amount: TicketAmount,
        /// Whether the ticket is redeemed at once: then `success` means that nobody else can use it any more, and there is no
        /// `token` in the event.
        redeem: OrDefault<Flag>,
        /// The token by which the mint knows who may use it (header `Clear-auth`), if it wants one.
        auth as "static_token": Aliased<Option<MintAuth>, StaticAuthToken>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
        /// Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
        expires_at: Option<UnixSeconds>,
    }
}

/// The state of a ticket request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketRequest {
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    request_id: String,
    reference: Option<String>,
    mint_url: String,
    unit: String,
    amount: u64,
    redeem: bool,
    auth: Option<MintAuthToken>,
    expires_at: UnixMillis,
    phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Asking,
    Checking {
        token: Token,
        tries: u32,
        next: UnixMillis,
    },
    /// The app has got an event that the token's value is unknown.
    GivenUp {
        token: Token,
        at: UnixMillis,
        next: UnixMillis,
    },
}

usher_protocol::debug_shows!(TicketRequest { mint_url, unit, amount });

impl StateMachine for TicketRequest {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::CashuResponse(response) => {
                vec![CorrelationKey::request(&response.request.inner.request_id)]
            }
            _ => Vec::new(),
        }
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match self.phase {
            Phase::Asking => self.step_asking(input, now),
            Phase::Checking { .. } | Phase::GivenUp { .. } => self.step_checking(input, now),
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(match &self.phase {
            Phase::Asking => self.expires_at,
            Phase::Checking { next, .. } | Phase::GivenUp { next, .. } => *next,
        })
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![CorrelationKey::request(&self.request_id)]
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::GivenUp { .. })
    }

    fn lingers(&self) -> bool {
        true
    }
}

impl TicketRequest {
    /// Asks a user for a token; `request_id` is a random id.
    pub fn start(request: RequestTicket, request_id: String, expires_at: UnixMillis) -> (Self, Vec<Effect>) {
        let state = Self {
            user_keys: UserKeys::new(request.main_key, &request.subkeys),
            request_id,
            reference: request.reference,
            mint_url: request.mint_url,
            unit: request.unit,
            amount: request.amount,
            redeem: request.redeem,
            auth: request.auth,
            expires_at,
            phase: Phase::Asking,
        };
        let ask = Effect::Send(state.user_keys.message(&state.message(), state.expires_at));
        (state, vec![ask])
    }

    fn step_asking(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if now >= self.expires_at => {
                self.end(CashuStatusData::new("timeout", "the user did not answer in time"), now)
            }
            // Also between the expiry and the timer: the wallet knows the expiry, and may take back its token.
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Wallet { author, message: WalletMessage::CashuResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.user_keys.prove(author, proof, Permission::Payment, now) =>
            {
                // A key that has just proven itself gets the request, too.
                let message = self.user_keys.message_to_proven(author, &self.message(), self.expires_at);
                StepResult::Stepped(vec![Effect::SendAlso(message)])
            }
            _ => StepResult::Ignored,
        }
    }

    fn answered(&mut self, author: &PublicKey, response: &CashuResponse, now: UnixMillis) -> StepResult {
        if response.request.inner.request_id != self.request_id || !self.user_keys.may_pay(author, now) {
            return StepResult::Ignored;
        }
        match &response.status {
            CashuStatus::Success { token } => {
                let token = Token(token.expose().to_owned());
                let call = self.call(&token);
                self.phase = Phase::Checking { token, tries: 0, next: lease(now) };
                StepResult::Stepped(vec![Effect::ClearOutbox, Effect::CallTicketWallet(call)])
            }
            CashuStatus::InsufficientFunds => self.respond(self.response("insufficient_funds"), now),
            CashuStatus::Rejected { reason } => {
                let response = CashuResponseData { reason: reason.clone(), ..self.response("rejected") };
                self.respond(response, now)
            }
        }
    }

    fn step_checking(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let (Phase::Checking { token, next, .. } | Phase::GivenUp { token, next, .. }) = &self.phase else {
            return StepResult::Ignored;
        };
        match input {
            Input::Timer if now < *next => StepResult::Ignored,
            Input::Timer | Input::Resumed => {
                let call = self.call(token);
                if let Phase::Checking { next, .. } | Phase::GivenUp { next, .. } = &mut self.phase {
                    *next = lease(now);
                }
                StepResult::Stepped(vec![Effect::CallTicketWallet(call)])
            }
            Input::Ticket(TicketReply::Verified(Ok(verified))) if !self.redeem => self.verified(verified, now),
            Input::Ticket(TicketReply::Redeemed(Ok(received))) if self.redeem => {
                let response = CashuResponseData { amount: Some(*received), ..self.response("success") };
                self.respond(response, now)
            }
            Input::Ticket(TicketReply::Verified(Err(failure)) | TicketReply::Redeemed(Err(failure))) => {
                let token = token.clone();
                self.failed(token, failure, now)
            }
            _ => StepResult::Ignored,
        }
    }

    fn verified(&self, verified: &VerifiedToken, now: UnixMillis) -> StepResult {
        let VerifiedToken { token, amount } = verified.clone();
        if amount < self.amount {
            let fault = TokenFault::TooLittle { amount, fee: 0, at_least: self.amount };
            return self.refused(token, &TicketError::Token(fault), now);
        }
        let response = CashuResponseData { token: Some(token.0), amount: Some(amount), ..self.response("success") };
        self.respond(response, now)
    }

    fn failed(&mut self, asked: Token, failure: &TicketError, now: UnixMillis) -> StepResult {
        let over = now >= self.expires_at.plus(MINT_TIMEOUT);
        match &mut self.phase {
            Phase::Checking { .. } | Phase::GivenUp { .. } if failure.is_definite() => {
                self.refused(asked, failure, now)
            }
            Phase::Checking { tries, next, .. } if !over => {
                *tries = tries.saturating_add(1);
                *next = retry_at(*tries, MAX_PAUSE, now);
                StepResult::Stepped(Vec::new())
            }
            Phase::Checking { .. } => {
                let reason = format!("the token could not be checked for a day: {failure}");
                let data = CashuStatusData { token: Some(asked.0.clone()), ..CashuStatusData::new("error", &reason) };
                self.phase = Phase::GivenUp { token: asked, at: now, next: now.plus(LATE_PAUSE) };
                StepResult::Stepped(vec![emit(self.status(data), now)])
            }
            Phase::GivenUp { at, .. } if now >= at.plus(LATE) => StepResult::Stepped(vec![Effect::Finish]),
            Phase::GivenUp { next, .. } => {
                *next = now.plus(LATE_PAUSE);
                StepResult::Stepped(Vec::new())
            }
            Phase::Asking => StepResult::Ignored,
        }
    }

    fn refused(&self, token: Token, failure: &TicketError, now: UnixMillis) -> StepResult {
        if self.is_done() {
            return StepResult::Stepped(vec![Effect::Finish]);
        }
        let (reason, worthless) = match failure {
            TicketError::Token(fault) => (
                format!("the user's token is refused: {fault}"),
                // That it is spent is only claimed by the mint.
                matches!(fault, TokenFault::Malformed | TokenFault::Forged),
            ),
            failure => (format!("the user's token could not be checked: {failure}"), false),
        };
        let token = (!worthless).then_some(token.0);
        self.end(CashuStatusData { token, ..CashuStatusData::new("error", &reason) }, now)
    }

    fn response(&self, status: &str) -> CashuResponseData {
        CashuResponseData {
            status: status.to_owned(),
            passed: None,
            token: None,
            amount: None,
            unit: Some(self.unit.clone()),
            mint_url: Some(self.mint_url.clone()),
            reason: None,
            request_id: self.reference.clone(),
        }
    }

    fn respond(&self, response: CashuResponseData, now: UnixMillis) -> StepResult {
        StepResult::Stepped(vec![emit(EventData::CashuResponse(response), now), Effect::Finish])
    }

    fn status(&self, data: CashuStatusData) -> EventData {
        EventData::CashuStatus(CashuStatusData { request_id: self.reference.clone(), ..data })
    }

    fn end(&self, data: CashuStatusData, now: UnixMillis) -> StepResult {
        StepResult::Stepped(vec![emit(self.status(data), now), Effect::Finish])
    }

    /// Always the same, because the ticket wallet identifies the job by it.
    fn call(&self, token: &Token) -> TicketCall {
        let terms = ReceiveTerms {
            token: token.clone(),
            mint_url: self.mint_url.clone(),
            unit: self.unit.clone(),
            at_least: self.amount,
            auth: self.auth.clone(),
        };
        if self.redeem { TicketCall::Redeem(terms) } else { TicketCall::Verify(terms) }
    }

    fn message(&self) -> ServiceMessage {
        ServiceMessage::CashuRequest(message::CashuRequest {
            request_id: self.request_id.clone(),
            mint_url: self.mint_url.clone(),
            unit: self.unit.clone(),
            amount: self.amount,
            expires_at: self.expires_at.secs(),
        })
    }
}

#[cfg(test)]
mod tests;
