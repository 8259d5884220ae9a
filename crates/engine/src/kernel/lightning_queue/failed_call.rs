//! The input that a request becomes which was not made.

use crate::machine::{Input, LightningRequest};
use crate::ports::{LightningError, NodeError};

pub(super) fn failed(call: &LightningRequest, failure: impl FnOnce() -> LightningError) -> Input {
    match call {
        LightningRequest::MakeInvoice(_) => Input::InvoiceMade(Err(failure())),
        LightningRequest::LookUpInvoice(_) => Input::InvoiceStatus(Err(failure())),
        LightningRequest::PreparePayment { .. } => Input::PaymentPrepared(Err(failure())),
        LightningRequest::Pay { attempt, .. } => Input::PaymentSent { attempt: *attempt, result: Err(failure()) },
        LightningRequest::LookUpPayment { .. } => Input::PaymentStatus(Err(failure())),
        // It may have been executed.
        LightningRequest::SendOnChain(_) | LightningRequest::LookUpOnChain(_) => {
            Input::OnChain(Err(NodeError::Unavailable(failure().to_string())))
        }
    }
}
