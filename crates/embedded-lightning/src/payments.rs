//! Outgoing payments: recorded, then passed to the library, once per payment hash (see the crate's documentation).

use ldk_node::NodeError;
use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::lightning::routing::router::RouteParametersConfig;
use ldk_node::lightning_invoice::Bolt11Invoice;
use ldk_node::payment::PaymentDirection;
use serde::{Deserialize, Serialize};
use usher_engine::ports::{CompletedPayment, LightningError, LookupCoverage, OutgoingPaymentStatus, SignedPayment};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;
use uuid::Uuid;

use crate::node_context::NodeContext;
use crate::payment_records::SentState;

/// The content of a prepared payment.
#[derive(Serialize, Deserialize)]
struct Request {
    /// Distinguishes it from other requests for the same invoice.
    id: Uuid,
    /// The largest routing fee in millisats.
    max_fee: u64,
}

/// The result of [`NodeContext::send`].
pub(crate) enum Sent {
    /// The outcome is not known yet.
    UnderWay,
    /// It had ended before.
    Ended(CompletedPayment),
}

pub(crate) fn prepare(invoice: &Invoice, until: u64, max_fee_percent: u64) -> Result<SignedPayment, LightningError> {
    let amount = invoice.amount().ok_or_else(|| refused(false, "the invoice names no amount"))?;
    let max_fee = (u128::from(amount) * u128::from(max_fee_percent) / 100).try_into().unwrap_or(u64::MAX);
    let request = serde_json::to_string(&Request { id: Uuid::now_v7(), max_fee })
        .map_err(|error| LightningError::Refused { again: false, reason: error.to_string() })?;
    Ok(SignedPayment { request, until })
}

impl NodeContext {
    /// Passes a payment to the library, unless that was done before. Blocks.
    pub(crate) fn send(&self, invoice: &Invoice, payment: &SignedPayment, again: bool) -> Result<Sent, LightningError> {
        let hash = invoice.payment_hash();
        if let Some(sent) = self.sent_before(hash, payment)? {
            return Ok(sent);
        }
        if self.now() >= payment.until {
            return Err(if again { unknown("the request has expired") } else { LightningError::NotSent });
        }
        let (Ok(request), Ok(bolt11)) =
            (serde_json::from_str::<Request>(&payment.request), invoice.as_str().parse::<Bolt11Invoice>())
        else {
            return Err(refused(false, "the request to pay cannot be read"));
        };
        let known = self.node().payment(&PaymentId(*hash.as_bytes()));
        if known.is_some_and(|known| known.direction == PaymentDirection::Inbound) {
            return Err(refused(false, "the invoice is the service's own"));
        }
        let begun = self.store.begin_payment(hash, &payment.request, invoice.expires_at(), self.now());
        match begun {
            Ok(true) => {}
            Ok(false) => {
                return Ok(self.sent_before(hash, payment)?.unwrap_or(Sent::UnderWay));
            }
            Err(error) => return Err(unknown(&error.to_string())),
        }
        fail::fail_point!("before-lightning-send", |_| std::process::abort());
        let route = RouteParametersConfig::default().with_max_total_routing_fee_msat(request.max_fee);
        let sent = self.node().bolt11_payment().send(&bolt11, Some(route));
        fail::fail_point!("after-lightning-send", |_| std::process::abort());
        match sent {
            // The library has the payment already: its events report the outcome.
            Ok(_) | Err(NodeError::DuplicatePayment) => Ok(Sent::UnderWay),
            // Nothing was sent: these errors occur before sending.
            Err(error @ (NodeError::PaymentSendingFailed | NodeError::InvalidInvoice | NodeError::NotRunning)) => {
                self.store.forget_payment(hash).map_err(|error| unknown(&error.to_string()))?;
                Err(match error {
                    NodeError::PaymentSendingFailed => refused(
                        true,
                        "no route to the payee within the fee limit, not enough money in the channels, or the invoice \
                         has expired",
                    ),
                    NodeError::NotRunning => LightningError::NotSent,
                    _ => refused(false, "the node cannot pay this invoice"),
                })
            }
            Err(error) => Err(unknown(&error.to_string())),
        }
    }

    /// The recorded result of a payment, for this request.
    fn sent_before(&self, hash: PaymentHash, payment: &SignedPayment) -> Result<Option<Sent>, LightningError> {
        let record = self.store.sent_payment(hash).map_err(|error| unknown(&error.to_string()))?;
        match record {
            None => Ok(None),
            Some(record) => match record.state {
                SentState::Sending => Ok(Some(Sent::UnderWay)),
                SentState::Paid(paid) => Ok(Some(Sent::Ended(paid))),
                SentState::Failed(reason) if record.request == payment.request => Err(LightningError::Failed(reason)),
                SentState::Failed(_) => {
                    Err(refused(false, "an earlier payment of this invoice failed: ask the payee for a new invoice"))
                }
            },
        }
    }

    /// The outcome of a payment passed to the library; `None` while it is pending.
    pub(crate) fn outcome(&self, hash: PaymentHash) -> Option<Result<CompletedPayment, LightningError>> {
        match self.store.sent_payment(hash).ok()??.state {
            SentState::Sending => None,
            SentState::Paid(paid) => Some(Ok(paid)),
            SentState::Failed(reason) => Some(Err(LightningError::Failed(reason))),
        }
    }

    /// The state of an outgoing payment. Without a record it was never sent.
    pub(crate) fn look_up_payment(&self, hash: PaymentHash) -> Result<OutgoingPaymentStatus, LightningError> {
        let record = self.store.sent_payment(hash).map_err(|error| unknown(&error.to_string()))?;
        Ok(match record.map(|record| record.state) {
            None => OutgoingPaymentStatus::Unknown(LookupCoverage::InProgress),
            Some(SentState::Sending) => OutgoingPaymentStatus::Pending,
            Some(SentState::Paid(paid)) => OutgoingPaymentStatus::Paid(paid),
            Some(SentState::Failed(_)) => OutgoingPaymentStatus::Failed,
        })
    }
}

fn unknown(reason: &str) -> LightningError {
    LightningError::Unknown(reason.to_owned())
}

fn refused(again: bool, reason: &str) -> LightningError {
    LightningError::Refused { again, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of BOLT 11: 250,000,000 millisats.
    const COFFEE: &str = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh";

    #[test]
    fn fees_are_limited_to_a_part_of_the_amount() {
        let prepared = prepare(&COFFEE.parse().unwrap(), 0, 5).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&prepared.request).unwrap().max_fee, 12_500_000);
    }
}
