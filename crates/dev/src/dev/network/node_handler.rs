//! The user's Lightning wallet (NIP-47), backed by a node.

use std::sync::Arc;

use serde_json::{Value, json};
use usher_lightning_network::{Network, PaymentStatus, Peer, PeerPayment};
use usher_protocol::message::PaymentHash;
use usher_sandbox::lightning::nwc::{
    Capabilities, ErrorCode, LookupParams, MakeParams, Method, NwcRequest, NwcServiceContext, PayParams, Refusal,
    RequestHandler, Response, not_found,
};

/// Executes requests on the payer of a Lightning network.
pub(super) struct NodeHandler {
    network: Arc<Network>,
}

usher_protocol::debug_shows!(NodeHandler {});

impl NodeHandler {
    pub(super) const fn new(network: Arc<Network>) -> Self {
        Self { network }
    }

    pub(super) fn capabilities() -> Capabilities {
        Capabilities { notifications: false, ..Capabilities::default() }
    }
}

impl RequestHandler for NodeHandler {
    fn handle(&self, context: &Arc<NwcServiceContext>, request: NwcRequest) {
        if context.expire(&request) {
            return;
        }
        let Some(method) = context.supported(&request) else {
            let response = Response::refused(ErrorCode::NotImplemented, "the method is not supported");
            return context.respond(&request, &response);
        };
        let (network, responding) = (Arc::clone(&self.network), Arc::clone(context));
        context.spawn(async move {
            let result = execute(&network.payer, method, &request).await;
            responding.count(|metrics| *metrics.executed.entry(method).or_default() += 1);
            match result {
                Ok(result) => responding.respond(&request, &Response(result)),
                // Any response would be wrong. The app looks the payment up.
                Err(OutcomeUnknown) => tracing::warn!("a payment by the user's node does not end"),
            }
        });
    }
}

struct OutcomeUnknown;

async fn execute(payer: &Peer, method: Method, request: &NwcRequest) -> Result<Result<Value, Refusal>, OutcomeUnknown> {
    Ok(match method {
        Method::PayInvoice => match request.params() {
            Ok(params) => return pay(payer, &params).await,
            Err(refusal) => Err(refusal),
        },
        Method::MakeInvoice => request.params().and_then(|params| make(payer, &params)),
        Method::LookupInvoice => request.params().and_then(|params| look_up(payer, &params)),
        Method::GetBalance => Ok(json!({"balance": payer.outbound()})),
        Method::GetInfo => Ok(json!({
            "alias": "user",
            "pubkey": payer.id().to_string(),
            "network": "regtest",
            "methods": NodeHandler::capabilities().methods.iter().map(|method| method.as_str()).collect::<Vec<_>>(),
            "notifications": [],
        })),
    })
}

async fn pay(payer: &Peer, params: &PayParams) -> Result<Result<Value, Refusal>, OutcomeUnknown> {
    let failed = |reason: &str| Ok(Err(Refusal::new(ErrorCode::PaymentFailed, reason)));
    let Ok(invoice) = params.invoice.parse() else {
        return Ok(Err(Refusal::new(ErrorCode::Other, "this is not an invoice")));
    };
    if let Err(error) = payer.begin_payment(&invoice).await {
        return failed(&format!("not sent: {error}"));
    }
    if payer.outcome(&invoice).await.map_err(|_| OutcomeUnknown)? != PaymentStatus::Succeeded {
        return failed("no route to the payee");
    }
    let payment = payer.payment(*invoice.payment_hash().as_ref()).ok_or(OutcomeUnknown)?;
    let preimage = payment.preimage.ok_or(OutcomeUnknown)?;
    Ok(Ok(json!({"preimage": hex::encode(preimage), "fees_paid": payment.fee})))
}

fn make(payer: &Peer, params: &MakeParams) -> Result<Value, Refusal> {
    let refused = |reason: String| Refusal::new(ErrorCode::Other, reason);
    let expiry = params.expiry.map_or(Ok(3_600), u32::try_from).map_err(|error| refused(error.to_string()))?;
    let description = params.description.as_deref().unwrap_or_default();
    let invoice = payer.described_invoice(params.amount, description, expiry);
    let invoice = invoice.map_err(|error| refused(error.to_string()))?;
    let hash: &[u8; 32] = invoice.payment_hash().as_ref();
    Ok(json!({
        "type": "incoming",
        "state": "pending",
        "invoice": invoice.to_string(),
        "payment_hash": hex::encode(hash),
        "amount": params.amount,
        "fees_paid": 0,
    }))
}

fn look_up(payer: &Peer, params: &LookupParams) -> Result<Value, Refusal> {
    let hash = params.hash()?;
    let payment = payer.payment(*hash.as_bytes()).ok_or_else(not_found)?;
    Ok(payment_json(hash, &payment))
}

fn payment_json(hash: PaymentHash, payment: &PeerPayment) -> Value {
    json!({
        "type": if payment.incoming { "incoming" } else { "outgoing" },
        "state": match payment.status {
            PaymentStatus::Pending => "pending",
            PaymentStatus::Succeeded => "settled",
            PaymentStatus::Failed => "failed",
        },
        "payment_hash": hash.to_string(),
        "amount": payment.amount.unwrap_or(0),
        "fees_paid": payment.fee,
        "preimage": payment.preimage.map(hex::encode),
    })
}
