//! The replies of a wallet.

use usher_protocol::message::{
    Addressed, AuthResponse, AuthStatus, CashuRequest, CashuResponse, CashuStatus, PaymentResponse, PaymentStatus,
    RecurringRequest, RecurringResponse, RecurringStatus, WalletMessage,
};

use super::{Identity, Reaction, Request, RequestContent, Subscription, WalletError};

/// The reply to `request`; what is carried out is in [`fulfilment`](super::fulfilment).
pub(super) fn answer(
    request: &Request,
    reaction: &Reaction,
    identity: &Identity,
) -> Result<WalletMessage, WalletError> {
    match (&request.content, reaction) {
        (RequestContent::Authentication(challenge), _) => Ok(WalletMessage::AuthResponse(AuthResponse {
            challenge: challenge.challenge.clone(),
            subkey_proof: identity.proof().cloned(),
            status: match reaction {
                Reaction::Approve => AuthStatus::Approved {
                    granted_permissions: challenge.required_permissions.clone(),
                    session_token: None,
                },
                Reaction::Decline(reason) => AuthStatus::Declined { reason: reason.clone() },
                Reaction::Fail => return Err(WalletError::CannotAnswer(request.content.kind())),
            },
        })),
        (RequestContent::Payment(_), Reaction::Decline(reason)) => {
            let status = PaymentStatus::Rejected { reason: reason.clone() };
            payment(request, status).ok_or(WalletError::CannotAnswer(request.content.kind()))
        }
        (RequestContent::Recurring(asked), Reaction::Decline(reason)) => {
            Ok(WalletMessage::RecurringResponse(RecurringResponse {
                request_id: asked.request_id.clone(),
                status: RecurringStatus::Rejected { reason: reason.clone() },
            }))
        }
        (RequestContent::Ticket(asked), Reaction::Decline(reason)) => {
            Ok(ticket(asked, identity, CashuStatus::Rejected { reason: reason.clone() }))
        }
        (RequestContent::Payment(_), Reaction::Fail) => {
            let status = PaymentStatus::Failed { reason: None };
            payment(request, status).ok_or(WalletError::CannotAnswer(request.content.kind()))
        }
        (RequestContent::Ticket(asked), Reaction::Fail) => Ok(ticket(asked, identity, CashuStatus::InsufficientFunds)),
        // The protocol has no message that declines a request for an invoice, or a token.
        _ => Err(WalletError::CannotAnswer(request.content.kind())),
    }
}

/// The status of a payment: success is a confirmation, everything else a response. `None` for another request.
pub(super) fn payment(request: &Request, status: PaymentStatus) -> Option<WalletMessage> {
    let RequestContent::Payment(asked) = &request.content else { return None };
    let confirms = matches!(status, PaymentStatus::Success { .. });
    let response = PaymentResponse { request_id: asked.request_id.clone(), status };
    Some(if confirms { WalletMessage::PaymentConfirmation(response) } else { WalletMessage::PaymentResponse(response) })
}

pub(super) fn ticket(asked: &CashuRequest, identity: &Identity, status: CashuStatus) -> WalletMessage {
    let (main_key, recipient) = (identity.main_key(), identity.public_key());
    let request = Addressed { inner: asked.clone(), main_key, recipient };
    WalletMessage::CashuResponse(CashuResponse { request, status })
}

pub(super) fn recurring(asked: &RecurringRequest, agreed: &Subscription) -> WalletMessage {
    WalletMessage::RecurringResponse(RecurringResponse {
        request_id: asked.request_id.clone(),
        status: RecurringStatus::Confirmed {
            subscription_id: agreed.id.clone(),
            authorized_amount: agreed.amount,
            authorized_currency: agreed.currency.clone(),
            authorized_recurrence: agreed.recurrence.clone(),
        },
    })
}

pub(super) fn with_calendar(message: &WalletMessage, calendar: &str) -> String {
    let text = message.to_json();
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(&text) else { return text };
    if let Some(written) = value.pointer_mut("/status/authorized_recurrence/calendar") {
        *written = calendar.into();
    }
    value.to_string()
}
