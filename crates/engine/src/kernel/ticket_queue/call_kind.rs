//! The kinds of calls, and the input that a call becomes which was not made.

use std::sync::Arc;

use crate::machine::{Input, TicketCall, TicketReply};
use crate::ports::TicketError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallKind {
    Mint,
    Redeem,
    Verify,
    GiveUp,
    CheckState,
}

impl CallKind {
    pub(super) const fn of(call: &TicketCall) -> Self {
        match call {
            TicketCall::Mint(_) => Self::Mint,
            TicketCall::Redeem(_) => Self::Redeem,
            TicketCall::Verify(_) => Self::Verify,
            TicketCall::GiveUp { .. } => Self::GiveUp,
            TicketCall::CheckState { .. } => Self::CheckState,
        }
    }

    pub(super) const fn of_reply(reply: &TicketReply) -> Self {
        match reply {
            TicketReply::Minted(_) => Self::Mint,
            TicketReply::Redeemed(_) => Self::Redeem,
            TicketReply::Verified(_) => Self::Verify,
            TicketReply::GivenUp(_) => Self::GiveUp,
            TicketReply::State(_) => Self::CheckState,
        }
    }
}

pub(super) fn failed(call: &TicketCall, failure: TicketError) -> Input {
    let failure = Arc::new(failure);
    Input::Ticket(match call {
        TicketCall::Mint(_) => TicketReply::Minted(Err(failure)),
        TicketCall::Redeem(_) => TicketReply::Redeemed(Err(failure)),
        TicketCall::Verify(_) => TicketReply::Verified(Err(failure)),
        TicketCall::GiveUp { .. } => TicketReply::GivenUp(Err(failure)),
        TicketCall::CheckState { .. } => TicketReply::State(Err(failure)),
    })
}
