//! Executing requests on an account.

use serde_json::{Value, json};
use usher_protocol::bolt11::Network;

use super::wire::{self, LookupParams, MakeParams, PayParams, Refusal};
use super::{Capabilities, ErrorCode, Method, NwcRequest};
use crate::lightning::{Account, MakeError, Paid, PayError};

pub(super) fn execute(
    account: &Account,
    capabilities: &Capabilities,
    method: Method,
    request: &NwcRequest,
) -> Result<Value, Refusal> {
    match method {
        Method::MakeInvoice => make(account, request.params()?),
        Method::LookupInvoice => look_up(account, &request.params()?),
        Method::PayInvoice => {
            let params: PayParams = request.params()?;
            let paid = account.pay(&params.invoice, params.amount).map_err(pay_refusal)?;
            Ok(receipt(&paid))
        }
        Method::GetBalance => Ok(json!({"balance": account.balance()})),
        Method::GetInfo => Ok(info(account, capabilities)),
    }
}

fn make(account: &Account, params: MakeParams) -> Result<Value, Refusal> {
    let invoice = account.make_invoice(&params.into_terms()).map_err(|error| match error {
        MakeError::Full => Refusal::new(ErrorCode::Internal, error.to_string()),
        _ => Refusal::new(ErrorCode::Other, error.to_string()),
    })?;
    Ok(wire::open_invoice_json(invoice, account.now()))
}

fn look_up(account: &Account, params: &LookupParams) -> Result<Value, Refusal> {
    let hash = params.hash()?;
    let found = account.incoming(hash).or_else(|| account.outgoing(hash)).ok_or_else(wire::not_found)?;
    Ok(wire::transaction_json(&found))
}

fn info(account: &Account, capabilities: &Capabilities) -> Value {
    json!({
        "alias": account.name(),
        "color": "#f7931a",
        "pubkey": account.node_id().map(|key| key.to_string()),
        "network": Network::Regtest.as_str(),
        "block_height": 101,
        "block_hash": "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
        "methods": capabilities.methods.iter().map(|method| method.as_str()).collect::<Vec<_>>(),
        "notifications": capabilities.notification_types(),
    })
}

/// The result of a payment that arrived.
pub fn receipt(paid: &Paid) -> Value {
    json!({"preimage": paid.preimage.to_hex(), "fees_paid": paid.fees_paid})
}

/// How a wallet service refuses a payment that could not be made.
pub fn pay_refusal(error: PayError) -> Refusal {
    let code = match error {
        PayError::InsufficientBalance => ErrorCode::InsufficientBalance,
        PayError::NotAnInvoice(_) | PayError::AmountMissing | PayError::OtherAmount => ErrorCode::Other,
        _ => ErrorCode::PaymentFailed,
    };
    Refusal::new(code, error.to_string())
}
