//! Starts an on-chain payment, within the budget of the service's Lightning backend.

use super::OnChainPayment;
use crate::field_value_checks::SATS_OR_MILLISATS;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::payment::Payments;
use crate::payment::approval::UnstartedPayment;
use crate::ports::{OnChainAmount, OnChainOrder, OnChainPrice, OnChainWish};
use crate::request_body;
use crate::request_body::field_reader::MAX_MILLISATS;
use crate::request_body::{CurrencyName, Identifier, Integer, MillisatsOrAll, OneLine, RequestedCurrency};
use crate::{Requester, StreamId};

/// The largest fee rate in a request, in sats per virtual byte: above the highest rates in the chain's history, and
/// below typical rates with one digit too many.
pub(crate) const MAX_FEE_RATE: u64 = 1000;

request_body! {
    /// Sends money on chain.
    #[derive(Clone, Debug)]
    pub struct SendOnChainRequest, SendOnChainDraft = "SendOnChainRequest", example {
        "address": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "amount": 50000000,
    } {
        /// A Bitcoin address on `wallet.network`.
        address: OneLine<128>,
        /// Millisats that arrive there, a multiple of 1,000, or sats; the miner fee comes on top. Or `all`: all that the node can
        /// spend, less the fee.
        amount: MillisatsOrAll,
        /// `millisats` (default) or `sats`, in either case.
        currency: Option<CurrencyName>,
        /// Sats per virtual byte. By default what the chain source names for a block within an hour.
        fee_rate: Option<Integer<1, MAX_FEE_RATE>>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
    }
}

impl Payments {
    /// Sends money on chain. The amount and the largest fee are allocated from the budget at once.
    pub async fn send_on_chain(
        &self,
        requester: &Requester,
        request: SendOnChainRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let node = self.node.as_ref().ok_or(StartError::NoNode)?;
        let SendOnChainRequest { address, amount, currency, fee_rate, reference } = request;
        let unit = currency.unwrap_or(RequestedCurrency::Millisats).unit();
        let unit = unit.ok_or_else(|| StartError::invalid("/currency", SATS_OR_MILLISATS))?;
        let amount = match amount {
            OnChainAmount::Exactly(amount) => match amount.saturating_mul(unit) {
                millisats if millisats > MAX_MILLISATS => {
                    return Err(StartError::invalid("/amount", "is more than all bitcoins"));
                }
                millisats if millisats % 1000 != 0 => {
                    return Err(StartError::invalid("/amount", "must be a multiple of 1000: the chain has whole sats"));
                }
                millisats => OnChainAmount::Exactly(millisats),
            },
            OnChainAmount::All => OnChainAmount::All,
        };
        let wish = OnChainWish { address, amount, fee_rate };
        let OnChainPrice { amount: arrives, fee, fee_rate } = node.price_on_chain(&wish).await?;
        // Other coins may be spent in the end.
        let fees_allowed = match amount {
            OnChainAmount::Exactly(_) => fee.saturating_mul(2),
            OnChainAmount::All => fee,
        };
        let now = self.core.clock.now();
        let id = self.core.ids.stream_id();
        let most = arrives.saturating_add(fees_allowed);
        let order = OnChainOrder { id, address: wish.address, amount, fee_rate, most };
        let payment = OnChainPayment::new(order, reference, (arrives, fees_allowed), now);
        let record = once.as_ref().map(|once| once.record(&id, now));
        self.commit_new_spending(requester, id, UnstartedPayment::OnChain(payment), "/amount", record).await
    }
}
