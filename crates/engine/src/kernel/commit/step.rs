//! One operation's step, sorted into what the store commits and what is applied after the commit.

use super::change::Change;
use crate::event::NewEvent;
use crate::kernel::timers::MonotonicMillis;
use crate::machine::{Effect, LightningRequest, SignerCall, TicketCall};
use crate::ports::{
    CorrelationKey, LoginRecord, OutboxChange, OutboxMessage, OutgoingMessage, PasskeyChange, PendingAgeCheck,
    Revision, UserRelays, UserSigner,
};
use crate::registry::Operation;
use crate::{Origin, StreamId, UnixMillis};

pub(super) struct Step {
    pub(super) id: StreamId,
    pub(super) at: UnixMillis,
    pub(super) on: MonotonicMillis,
    pub(super) operation: Operation,
    pub(super) is_new: bool,
    pub(super) origin: Option<Origin>,
    pub(super) events: Vec<NewEvent>,
    /// Messages that replace the outbox.
    pub(super) messages: Vec<OutboxMessage>,
    /// Messages added to the outbox.
    pub(super) added: Vec<OutboxMessage>,
    pub(super) sent_once: Vec<OutgoingMessage>,
    /// The outbox is not repeated before this time.
    pub(super) paused: Option<UnixMillis>,
    pub(super) clears_outbox: bool,
    pub(super) finished: bool,
    pub(super) claims: Vec<CorrelationKey>,
    pub(super) calls: Vec<LightningRequest>,
    pub(super) ticket_calls: Vec<TicketCall>,
    pub(super) age_checks: Vec<PendingAgeCheck>,
    pub(super) signer_calls: Vec<SignerCall>,
    pub(super) user_signers: Vec<UserSigner>,
    pub(super) passkeys: Vec<PasskeyChange>,
    pub(super) login_record: Option<LoginRecord>,
    pub(super) looks_up: bool,
    pub(super) unstored_relays: Vec<UserRelays>,
}

pub(super) struct Announced {
    pub(super) event: NewEvent,
    pub(super) queue: StreamId,
}

impl Step {
    pub(super) fn of(change: Change, now: UnixMillis, on: MonotonicMillis) -> (Self, Vec<UserRelays>, Vec<Announced>) {
        let Change { id, operation, effects, expected, claims, origin, at } = change;
        let queue = operation.announcement_queue();
        let is_of_app = operation.is_of_app();
        let mut step = Self {
            id,
            at: at.unwrap_or(now),
            on,
            operation,
            is_new: expected == Revision::New,
            origin,
            events: Vec::new(),
            messages: Vec::new(),
            added: Vec::new(),
            sent_once: Vec::new(),
            paused: None,
            clears_outbox: false,
            finished: false,
            claims,
            calls: Vec::new(),
            ticket_calls: Vec::new(),
            age_checks: Vec::new(),
            signer_calls: Vec::new(),
            user_signers: Vec::new(),
            passkeys: Vec::new(),
            login_record: None,
            looks_up: false,
            unstored_relays: Vec::new(),
        };
        let (mut user_relays, mut announced) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Emit(_) | Effect::KeepSigner(_) if !is_of_app => {}
                Effect::RememberRelays(user) if !is_of_app => {
                    if !user.relays.is_empty() {
                        step.unstored_relays.push(user);
                    }
                }
                Effect::Emit(event) => step.events.push(event),
                Effect::Send(message) => step.messages.push(OutboxMessage { made_at: now, ..message }),
                Effect::SendAlso(message) => step.added.push(OutboxMessage { made_at: now, ..message }),
                Effect::SendAs(message) => step.sent_once.push(*message),
                Effect::Pause(until) => step.paused = Some(until),
                Effect::RememberRelays(relays) => user_relays.push(relays),
                Effect::ClearOutbox => step.clears_outbox = true,
                Effect::CallLightning(call) => step.calls.push(call),
                Effect::CallTicketWallet(call) => step.ticket_calls.push(call),
                Effect::CheckAge(pending) => step.age_checks.push(pending),
                Effect::AskSigner(call) => step.signer_calls.push(*call),
                Effect::KeepSigner(signer) => step.user_signers.push(signer),
                Effect::KeepPasskey(change) => step.passkeys.push(change),
                Effect::KeepLogin(record) => step.login_record = Some(record),
                Effect::LookUp => step.looks_up = true,
                Effect::Announce(event) => announced.push(Announced { event, queue }),
                Effect::Finish => step.finished = true,
                // Already extracted as separate changes.
                Effect::Start(..) | Effect::LinkedChange(_) | Effect::Signal(..) => {}
            }
        }
        (step, user_relays, announced)
    }

    /// Whether it sends messages now. After the user's reply, no other device gets the request.
    pub(super) const fn sends(&self) -> bool {
        !self.messages.is_empty() || (!self.added.is_empty() && self.paused.is_none())
    }

    pub(super) fn outbox_change(&self) -> OutboxChange {
        match self.paused {
            _ if self.clears_outbox || !self.messages.is_empty() => {
                OutboxChange::Replace(self.messages.iter().chain(&self.added).cloned().collect())
            }
            Some(until) => OutboxChange::Pause(until),
            None if self.added.is_empty() => OutboxChange::Keep,
            None => OutboxChange::Add(self.added.clone()),
        }
    }
}
