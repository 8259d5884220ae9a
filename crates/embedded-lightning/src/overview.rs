//! The state of the node for its operator, with warnings.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ldk_node::lightning::chain::channelmonitor::BalanceSource;
use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::{LightningBalance, PendingSweepBalance};
use usher_engine::ports::{NodeChannels, NodeOnChain, NodePending, NodeState, NodeWarning};

use crate::liquidity::sendable;
use crate::node::CLOSING_RESERVE;
use crate::node_context::{NodeContext, OLDEST_SYNC};

/// A warning is given if one payment can receive less than this percentage of the capacity.
const LITTLE_INBOUND: u64 = 20;

/// How long, in seconds, a forced closure causes a warning: by then its money is on chain.
const WARN_OF_CLOSURE: u64 = 7 * 24 * 3600;

/// Most outputs of a funding transaction of the library: the channel and the change, with some margin.
const FUNDING_OUTPUTS: u8 = 8;

/// How often warnings are evaluated.
const POLL_INTERVAL: Duration = Duration::from_secs(60);

impl NodeContext {
    pub(crate) fn state(&self) -> std::io::Result<NodeState> {
        let (status, channels, balances) =
            (self.node().status(), self.node().list_channels(), self.node().list_balances());
        let usable = channels.iter().filter(|channel| channel.is_usable).count();
        let open: HashSet<_> = channels.iter().map(|channel| channel.channel_id).collect();
        let mut closing = 0;
        for balance in &balances.lightning_balances {
            let Some((channel, amount)) = claimable(balance) else { continue };
            if !open.contains(&channel) && !self.pays_to_wallet(balance)? && !self.was_never_funded(balance) {
                closing += amount;
            }
        }
        let swept = balances.pending_balances_from_channel_closures.iter().map(|pending| match pending {
            PendingSweepBalance::PendingBroadcast { amount_satoshis, .. }
            | PendingSweepBalance::BroadcastAwaitingConfirmation { amount_satoshis, .. } => *amount_satoshis,
            // Included in the on-chain balance.
            PendingSweepBalance::AwaitingThresholdConfirmations { .. } => 0,
        });
        let waits_for_provider = !self.closes_alone
            && balances.lightning_balances.iter().any(|balance| match balance {
                LightningBalance::ClaimableOnChannelClose { channel_id, counterparty_node_id, .. } => {
                    !open.contains(channel_id)
                        && self.is_provider(counterparty_node_id)
                        && !self.was_never_funded(balance)
                }
                _ => false,
            });
        let (spendable, kept) = self.on_chain(&balances, &channels);
        // The library may not yet have seen the pending transactions.
        let (on_chain, spendable, kept, sending) = match self.balance_with_sends()? {
            None => (balances.total_onchain_balance_sats, spendable, kept, 0),
            Some((total, spendable, sending)) => {
                let kept = self.kept(&channels, total);
                (total, spendable.saturating_sub(kept), kept, sending)
            }
        };
        let inbound = self.free_inbound().map_err(|error| std::io::Error::other(error.to_string()))?.at_once;
        let mut state = NodeState {
            node_id: self.node().node_id().to_string(),
            network: self.network,
            synced_at: status.latest_lightning_wallet_sync_timestamp,
            height: status.current_best_block.height,
            channels: NodeChannels {
                usable,
                unusable: channels.len() - usable,
                capacity: channels.iter().map(|channel| channel.channel_value_sats * 1000).sum(),
            },
            outbound: sendable(&channels),
            inbound,
            on_chain: NodeOnChain { total: on_chain * 1000, spendable: spendable * 1000, reserved: kept * 1000 },
            pending: NodePending {
                payments: self.store.payments_under_way()?,
                closing: (closing + swept.sum::<u64>()) * 1000,
                sending: sending * 1000,
            },
            skimmed_fees: self.store.skimmed_fees()?,
            closures: self.store.closures()?,
            warnings: Vec::new(),
        };
        state.warnings = self.warnings(&state, waits_for_provider)?;
        Ok(state)
    }

    /// Whether a closed channel pays directly to the wallet, whose on-chain balance includes it as soon as the wallet
    /// has seen the closing transaction.
    fn pays_to_wallet(&self, balance: &LightningBalance) -> std::io::Result<bool> {
        match balance {
            LightningBalance::ClaimableOnChannelClose { channel_id, .. } => {
                self.store.is_closed_with_peer(channel_id.0)
            }
            LightningBalance::ClaimableAwaitingConfirmations { source, .. } => Ok(*source == BalanceSource::CoopClose),
            _ => Ok(false),
        }
    }

    /// Whether this node's funding transaction of a channel was never published, because the process was killed before:
    /// the money never left the wallet, but the library still lists a balance of the channel. The opener of a channel
    /// pays for its closing transaction. A channel's id consists of the funding transaction's id and the output's
    /// number (BOLT 2, `funding_created`), and the wallet knows all transactions that have spent its money.
    fn was_never_funded(&self, balance: &LightningBalance) -> bool {
        match balance {
            LightningBalance::ClaimableOnChannelClose { channel_id, transaction_fee_satoshis: 1.., .. } => {
                !(0..FUNDING_OUTPUTS).any(|output| {
                    let mut transaction = channel_id.0;
                    transaction[31] ^= output;
                    self.node().payment(&PaymentId(transaction)).is_some()
                })
            }
            _ => false,
        }
    }

    fn warnings(&self, state: &NodeState, waits_for_provider: bool) -> std::io::Result<Vec<NodeWarning>> {
        let provider_is_away = self.provider.as_ref().is_some_and(|provider| {
            !self.node().list_peers().iter().any(|peer| peer.node_id == provider.node_id && peer.is_connected)
        });
        let situation = Situation {
            runs: self.is_running(),
            has_provider: self.provider.is_some(),
            provider_is_away,
            forced_closure: self.store.last_forced_closure()?,
            waits_for_provider,
            now: self.now(),
        };
        Ok(warnings(state, &situation))
    }
}

/// The part of a channel balance that is certainly ours, in sats.
fn claimable(balance: &LightningBalance) -> Option<(ldk_node::lightning::ln::types::ChannelId, u64)> {
    match balance {
        LightningBalance::ClaimableOnChannelClose { channel_id, amount_satoshis, .. }
        | LightningBalance::ClaimableAwaitingConfirmations { channel_id, amount_satoshis, .. }
        | LightningBalance::ContentiousClaimable { channel_id, amount_satoshis, .. }
        | LightningBalance::CounterpartyRevokedOutputClaimable { channel_id, amount_satoshis, .. } => {
            Some((*channel_id, *amount_satoshis))
        }
        LightningBalance::MaybeTimeoutClaimableHTLC { .. } | LightningBalance::MaybePreimageClaimableHTLC { .. } => {
            None
        }
    }
}

/// What warnings depend on besides the state.
struct Situation {
    runs: bool,
    has_provider: bool,
    provider_is_away: bool,
    /// When a channel was last force-closed, in Unix seconds.
    forced_closure: Option<u64>,
    /// A channel with the provider was force-closed, its closing transaction is unconfirmed, and publishing it is left
    /// to the provider.
    waits_for_provider: bool,
    /// Unix seconds.
    now: u64,
}

fn warnings(state: &NodeState, situation: &Situation) -> Vec<NodeWarning> {
    let mut warnings = Vec::new();
    let mut warn = |code, text: String| warnings.push(NodeWarning { code, text });
    let is_synced = state.synced_at.is_some_and(|at| at.saturating_add(OLDEST_SYNC) >= situation.now);
    if !situation.runs {
        warn("not_running", "the node waits for its chain source, or cannot write its data: see the log".to_owned());
    } else if !is_synced {
        warn(
            "not_synced",
            "the node has not processed the chain for an hour or since its first start: it makes no invoices until the \
             chain source answers"
                .to_owned(),
        );
    }
    if situation.provider_is_away {
        warn("provider_away", "the liquidity provider is not connected: it opens no channels now".to_owned());
    }
    let (inbound, capacity) = (state.inbound, state.channels.capacity);
    if state.channels.usable == 0 && !situation.has_provider {
        warn(
            "cannot_receive",
            "no channel can be used and no liquidity provider is configured: no payment can be received".to_owned(),
        );
    } else if state.channels.usable > 0 && inbound < capacity / 100 * LITTLE_INBOUND {
        let consequence = if situation.has_provider {
            "for a larger payment the liquidity provider opens another channel and keeps a fee"
        } else {
            "a larger payment cannot be received, because no liquidity provider is configured"
        };
        warn("low_inbound", format!("the channels can receive {inbound} msat in one payment: {consequence}"));
    }
    if let Some(at) = situation.forced_closure
        && at.saturating_add(WARN_OF_CLOSURE) >= situation.now
    {
        let money = match state.pending.closing {
            0 => "its money is on the chain".to_owned(),
            closing => format!("{closing} msat are on their way to the chain, less fees"),
        };
        warn("forced_closure", format!("a channel was closed by force within the last week; {money}"));
    }
    if situation.waits_for_provider {
        warn(
            "cannot_close",
            format!(
                "a channel was closed by force, and its closing transaction is not in a block. The liquidity provider \
                 publishes it. If the provider is gone for good: send {CLOSING_RESERVE} sat or more to an address of the \
                 node, wait until they are part of the on-chain balance, and restart the service"
            ),
        );
    }
    warnings
}

/// Logs each warning when it starts to apply.
pub(crate) async fn watch(inner: Arc<NodeContext>) {
    let mut said: HashSet<&'static str> = HashSet::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if inner.is_broken() {
            tracing::error!("the Lightning node broke and is off until the next start: restart the service");
            return;
        }
        let looking = Arc::clone(&inner);
        let Ok(Ok(state)) = tokio::task::spawn_blocking(move || looking.state()).await else { continue };
        for warning in &state.warnings {
            if said.insert(warning.code) {
                tracing::warn!(code = warning.code, "Lightning node: {}", warning.text);
            }
        }
        said.retain(|code| state.warnings.iter().any(|warning| warning.code == *code));
    }
}

#[cfg(test)]
mod tests {
    use usher_engine::ports::Closures;
    use usher_protocol::bolt11::Network;

    use super::*;

    const HEALTHY: Situation = Situation {
        runs: true,
        has_provider: true,
        provider_is_away: false,
        forced_closure: None,
        waits_for_provider: false,
        now: 1_000_000,
    };

    fn state() -> NodeState {
        NodeState {
            node_id: String::new(),
            network: Network::Regtest,
            synced_at: Some(999_990),
            height: 1,
            channels: NodeChannels { usable: 1, unusable: 0, capacity: 1_000_000 },
            outbound: 500_000,
            inbound: 200_000,
            on_chain: NodeOnChain::default(),
            pending: NodePending { closing: 7, ..NodePending::default() },
            skimmed_fees: 0,
            closures: Closures::default(),
            warnings: Vec::new(),
        }
    }

    fn codes(state: &NodeState, situation: &Situation) -> Vec<&'static str> {
        warnings(state, situation).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn what_the_node_warns_of() {
        let closed = |at| Situation { forced_closure: Some(at), ..HEALTHY };
        let new = NodeState { channels: NodeChannels::default(), inbound: 0, ..state() };
        let alone =
            NodeState { channels: NodeChannels { usable: 0, unusable: 1, capacity: 1_000_000 }, inbound: 0, ..state() };
        for (state, situation, expected) in [
            (state(), HEALTHY, &[][..]),
            // The provider opens the first channel.
            (new, HEALTHY, &[]),
            (NodeState { inbound: 199_999, ..state() }, HEALTHY, &["low_inbound"]),
            (state(), Situation { runs: false, ..HEALTHY }, &["not_running"]),
            (NodeState { synced_at: None, ..state() }, HEALTHY, &["not_synced"]),
            (state(), Situation { provider_is_away: true, ..HEALTHY }, &["provider_away"]),
            (alone, Situation { has_provider: false, ..HEALTHY }, &["cannot_receive"]),
            (state(), closed(999_000), &["forced_closure"]),
            (state(), closed(1_000_000 - WARN_OF_CLOSURE - 1), &[]),
        ] {
            assert_eq!(codes(&state, &situation), expected);
        }
    }
}
