//! The proof of a passed session: minted, given up, and sent to the requester.

use std::time::Duration;

use usher_protocol::message::{Addressed, CashuRequest, CashuResponse, CashuStatus, WalletMessage};
use usher_protocol::{Keys, SecretKey};

use super::{GIVE_UP_TRIES, MAX_PAUSE, MINT_TIMEOUT, Phase, REPLY_PAUSES, SessionResult, VerificationSession};
use crate::UnixMillis;
use crate::machine::ticket_call::{lease, retry_at};
use crate::machine::{Effect, Input, StepResult, TicketCall, TicketReply};
use crate::ports::{MintTerms, Minted, OutgoingMessage};

impl VerificationSession {
    pub(super) fn step_minting(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let (Phase::Minting { since, tries, next }, Some(proof)) = (&mut self.phase, &self.proof) else {
            return StepResult::Ignored;
        };
        let reason = match input {
            Input::Timer if now < *next => return StepResult::Ignored,
            Input::Timer | Input::Resumed => {
                *next = lease(now);
                return StepResult::Stepped(vec![Effect::CallTicketWallet(TicketCall::Mint(proof.clone()))]);
            }
            Input::Ticket(TicketReply::Minted(Ok(Minted::Token(token)))) => {
                let result = SessionResult::Passed { token: token.clone() };
                return StepResult::Stepped(self.reply(result, now));
            }
            Input::Ticket(TicketReply::Minted(Ok(Minted::PaymentNeeded { .. }))) => {
                "the mint wants to be paid for the proof".to_owned()
            }
            Input::Ticket(TicketReply::Minted(Err(failure))) => {
                if !failure.is_definite() && now < since.plus(MINT_TIMEOUT) {
                    *tries = tries.saturating_add(1);
                    *next = retry_at(*tries, MAX_PAUSE, now);
                    return StepResult::Stepped(Vec::new());
                }
                format!("the proof could not be issued: {failure}")
            }
            _ => return StepResult::Ignored,
        };
        let give_up = Effect::CallTicketWallet(TicketCall::GiveUp { mint_url: proof.mint_url.clone() });
        self.phase = Phase::GivingUp { reason, tries: 0, next: lease(now) };
        StepResult::Stepped(vec![give_up])
    }

    pub(super) fn step_giving_up(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let (Phase::GivingUp { reason, tries, next }, Some(proof)) = (&mut self.phase, &self.proof) else {
            return StepResult::Ignored;
        };
        let result = match input {
            Input::Timer if now < *next => return StepResult::Ignored,
            Input::Timer | Input::Resumed => {
                *next = lease(now);
                let give_up = TicketCall::GiveUp { mint_url: proof.mint_url.clone() };
                return StepResult::Stepped(vec![Effect::CallTicketWallet(give_up)]);
            }
            Input::Ticket(TicketReply::GivenUp(Ok(Some(token)))) => SessionResult::Passed { token: token.clone() },
            Input::Ticket(TicketReply::GivenUp(Ok(None))) => SessionResult::NotIssued { reason: reason.clone() },
            // Only the store can fail. A record that stays unreadable is reported as damage.
            Input::Ticket(TicketReply::GivenUp(Err(_))) if *tries >= GIVE_UP_TRIES => {
                SessionResult::NotIssued { reason: reason.clone() }
            }
            Input::Ticket(TicketReply::GivenUp(Err(_))) => {
                *tries = tries.saturating_add(1);
                *next = retry_at(*tries, MAX_PAUSE, now);
                return StepResult::Stepped(Vec::new());
            }
            _ => return StepResult::Ignored,
        };
        StepResult::Stepped(self.reply(result, now))
    }

    pub(super) fn step_replying(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Phase::Replying { sent, next, .. } = &mut self.phase else { return StepResult::Ignored };
        match input {
            // Nobody else has the key, so this is the reply that was sent.
            Input::Wallet { author, message: WalletMessage::CashuResponse(response), .. }
                if *author == self.key && response.request.inner.request_id == self.request_id =>
            {
                StepResult::Stepped(self.end(now))
            }
            Input::Timer if now < *next => StepResult::Ignored,
            Input::Timer | Input::Resumed => match REPLY_PAUSES.get(*sent) {
                Some(pause) => {
                    *sent += 1;
                    *next = now.plus(Duration::from_millis(*pause));
                    StepResult::Stepped(self.outgoing(now).into_iter().map(Effect::SendAs).collect())
                }
                None => StepResult::Stepped(self.end(now)),
            },
            _ => StepResult::Ignored,
        }
    }

    /// Sends the reply of the session's key; without a request, the session ends.
    pub(super) fn reply(&mut self, result: SessionResult, now: UnixMillis) -> Vec<Effect> {
        let next = now.plus(Duration::from_millis(REPLY_PAUSES[0]));
        self.phase = Phase::Replying { result, made_at: now, sent: 1, next };
        match self.outgoing(now) {
            Some(outgoing) => vec![Effect::SendAs(outgoing)],
            None => self.end(now),
        }
    }

    pub(super) fn outgoing(&self, now: UnixMillis) -> Option<Box<OutgoingMessage>> {
        let Phase::Replying { result, made_at, .. } = &self.phase else { return None };
        let inner = self.request()?;
        let signer = SecretKey::parse(self.secret_key.as_deref()?).ok().map(Keys::new)?;
        let status = match result {
            SessionResult::Passed { token } => CashuStatus::Success { token: token.0.clone().into() },
            SessionResult::Rejected { reason } => CashuStatus::Rejected { reason: reason.clone() },
            SessionResult::NotIssued { .. } => CashuStatus::InsufficientFunds,
        };
        let request = Addressed { inner, main_key: self.key, recipient: self.key };
        let message = WalletMessage::CashuResponse(CashuResponse { request, status });
        Some(Box::new(OutgoingMessage {
            kind: message.kind(),
            content: message.to_json(),
            recipients: vec![self.service_key],
            participants: vec![self.service_key],
            relays: Vec::new(),
            until: now,
            made_at: *made_at,
            signer: Some(signer),
        }))
    }

    pub(super) fn request(&self) -> Option<CashuRequest> {
        let MintTerms { mint_url, unit, amount, .. } = self.proof.as_ref()?;
        Some(CashuRequest {
            request_id: self.request_id.clone(),
            mint_url: mint_url.clone(),
            unit: unit.clone(),
            amount: *amount,
            expires_at: self.expires_at.secs(),
        })
    }
}
