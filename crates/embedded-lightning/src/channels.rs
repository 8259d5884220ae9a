//! Channels: listing, opening, closing, and the price of opening one for a payment.

use std::collections::HashSet;
use std::str::FromStr as _;

use ldk_node::bitcoin::hashes::Hash as _;
use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::lightning::ln::msgs::SocketAddress;
use ldk_node::lightning_invoice::{Bolt11InvoiceDescription, Description};
use ldk_node::payment::PaymentKind;
use ldk_node::{ChannelDetails, NodeError as LibraryError, UserChannelId};
use usher_engine::ports::{
    Channel, ChannelOpening, LightningError, NodeError, OpeningState, ReceivingCost, WantedChannel,
};

use crate::channel_records::Opening;
use crate::funding;
use crate::node::CLOSING_RESERVE;
use crate::node_context::NodeContext;

/// Lifetime, in seconds, of the unpublished invoice that is created to learn a price.
const PRICE_INVOICE: u32 = 60;

impl NodeContext {
    /// Blocks.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        let peers = self.node().list_peers();
        let address =
            |id: &PublicKey| peers.iter().find(|peer| peer.node_id == *id).map(|peer| peer.address.to_string());
        let channel = |channel: ChannelDetails| Channel {
            id: channel.channel_id.to_string(),
            peer: channel.counterparty_node_id.to_string(),
            peer_address: address(&channel.counterparty_node_id),
            funding: channel.funding_txo.map(|output| output.to_string()),
            capacity: channel.channel_value_sats * 1000,
            outbound: channel.outbound_capacity_msat,
            inbound: channel.inbound_capacity_msat,
            opened_by_service: channel.is_outbound,
            ready: channel.is_channel_ready,
            usable: channel.is_usable,
        };
        self.node().list_channels().into_iter().map(channel).collect()
    }

    /// The current cost of receiving a payment. The library returns a price only with an invoice, so one is created and
    /// discarded. Blocks.
    pub(crate) fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError> {
        self.check_sync().map_err(|error| match error {
            LightningError::Refused { reason, .. } => NodeError::Unavailable(reason),
            error => NodeError::Unavailable(error.to_string()),
        })?;
        let room = || self.free_inbound().map_err(|error| NodeError::Unavailable(error.to_string()));
        let free = ReceivingCost { opens_channel: false, opening_fee: 0 };
        if room()?.at_once >= amount {
            return Ok(free);
        }
        let description = Description::new(String::new()).map_err(|error| NodeError::Refused(error.to_string()))?;
        let description = Bolt11InvoiceDescription::Direct(description);
        let offered = self.node().bolt11_payment().receive_via_jit_channel(amount, &description, PRICE_INVOICE, None);
        let limit = self.opening_fee_limit(amount);
        let invoice = match offered {
            Ok(invoice) => invoice,
            Err(_) if room()?.in_parts >= amount => return Ok(free),
            Err(error) => {
                return Err(match self.unpayable(error, amount, limit) {
                    LightningError::Refused { reason, .. } => NodeError::Refused(reason),
                    error => NodeError::Refused(error.to_string()),
                });
            }
        };
        let id = PaymentId(*invoice.payment_hash().as_ref());
        let fee = self.node().payment(&id).and_then(|payment| match payment.kind {
            PaymentKind::Bolt11Jit { lsp_fee_limits, .. } => lsp_fee_limits.max_total_opening_fee_msat,
            _ => None,
        });
        let _ = self.node().remove_payment(&id);
        let fee = fee.ok_or_else(|| NodeError::Refused("the liquidity provider names no price".to_owned()))?;
        if fee > limit {
            return Err(NodeError::Refused(format!(
                "the liquidity provider wants {fee} msat for opening a channel, and wallet.embedded.max_opening_fee_percent \
                 allows {limit} msat"
            )));
        }
        Ok(ReceivingCost { opens_channel: true, opening_fee: fee })
    }

    /// Opens a channel, once per key. Blocks.
    pub(crate) fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError> {
        let (peer, address) = self.peer(wanted.peer.as_deref())?;
        let amount = wanted.amount / 1000;
        // One at a time, so that channels cannot be confused.
        let _opening = self.spending.lock();
        if let Some(key) = &wanted.key {
            match self.store.opening(key).map_err(storage)? {
                Some(known) if known.peer != peer.to_string() || known.amount != amount => {
                    return Err(NodeError::Refused("this Idempotency-Key was used for another channel".to_owned()));
                }
                Some(known) => {
                    if let Some(channel) =
                        known.channel.map_or_else(|| self.unrecorded(peer, amount), |id| Ok(Some(id)))?
                    {
                        self.store.opening_has_channel(key, channel).map_err(storage)?;
                        return Ok(self.opening_state(peer, channel));
                    }
                    if self.has_abandoned_channel(&known)? {
                        return Ok(ChannelOpening { peer: peer.to_string(), state: OpeningState::Closed });
                    }
                }
                None => {}
            }
        }
        let (spendable, _) = self.on_chain(&self.node().list_balances(), &self.node().list_channels());
        let kept = if self.is_provider(&peer) { 0 } else { CLOSING_RESERVE };
        if spendable <= amount.saturating_add(kept) {
            return Err(NodeError::InvalidAmount(format!(
                "the node can spend {spendable} sat of its on-chain balance, which must also cover the fee of the funding \
                 transaction and {kept} sat that are kept for closing the channel"
            )));
        }
        if self.spends_coins_unseen() {
            return Err(NodeError::Refused(
                "the node has not seen the funding transaction of another channel on the chain yet, and could spend the same \
                 coins again: repeat the request in a minute (a channel that stays unready can be closed by force)"
                    .to_owned(),
            ));
        }
        if self.sends_coins_unseen().map_err(storage)? {
            return Err(NodeError::Refused(
                "the node has not seen the transaction on the chain yet that sends money away, and could spend the same coins again: repeat the request in a minute"
                    .to_owned(),
            ));
        }
        if let Some(key) = &wanted.key {
            self.store.begin_opening(key, &peer.to_string(), amount).map_err(storage)?;
        }
        fail::fail_point!("before-channel-opening", |_| std::process::abort());
        let UserChannelId(channel) =
            self.node().open_channel(peer, address, amount, None, None).map_err(|error| match error {
                LibraryError::InsufficientFunds => NodeError::InvalidAmount(format!(
                    "the node can spend {spendable} sat of its on-chain balance, which must also cover the fee of the funding \
                     transaction and what is kept for closing the channel"
                )),
                LibraryError::ConnectionFailed => NodeError::Refused("the peer cannot be reached".to_owned()),
                LibraryError::NotRunning => NodeError::Unavailable("it waits for its chain source".to_owned()),
                error => NodeError::Refused(error.to_string()),
            })?;
        fail::fail_point!("after-channel-opening", |_| std::process::abort());
        if let Some(key) = &wanted.key {
            self.store.opening_has_channel(key, channel).map_err(storage)?;
        }
        Ok(self.opening_state(peer, channel))
    }

    /// A channel that was opened when the process ended before it was recorded.
    fn unrecorded(&self, peer: PublicKey, amount: u64) -> Result<Option<u128>, NodeError> {
        for channel in self.node().list_channels() {
            let fits = channel.is_outbound
                && channel.counterparty_node_id == peer
                && channel.channel_value_sats == amount
                && !self.store.is_of_an_opening(channel.user_channel_id.0).map_err(storage)?;
            if fits {
                return Ok(Some(channel.user_channel_id.0));
            }
        }
        Ok(None)
    }

    /// Whether a channel was funded since an opening began that the library does not list: the process was killed
    /// between the library's write of the channel's monitor and of its list of channels. The library force-closes such
    /// a channel, and its money returns.
    fn has_abandoned_channel(&self, opening: &Opening) -> Result<bool, NodeError> {
        // Monitors first: a channel funded in between is listed.
        let stored = self.store.monitors().map_err(storage)?;
        let listed: HashSet<String> = self
            .node()
            .list_channels()
            .into_iter()
            .filter_map(|channel| channel.funding_txo)
            .map(funding::monitor)
            .collect();
        Ok(stored.iter().any(|monitor| !opening.monitors.contains(monitor) && !listed.contains(monitor)))
    }

    /// Whether a channel is being opened with coins that the on-chain wallet still considers unspent: it learns of the
    /// funding transaction from the chain source.
    pub(crate) fn spends_coins_unseen(&self) -> bool {
        let node = self.node();
        let is_seen = |channel: &ChannelDetails| {
            channel.funding_txo.is_some_and(|output| node.payment(&PaymentId(output.txid.to_byte_array())).is_some())
        };
        node.list_channels().iter().any(|channel| channel.is_outbound && !channel.is_channel_ready && !is_seen(channel))
    }

    fn opening_state(&self, peer: PublicKey, channel: u128) -> ChannelOpening {
        let channels = self.node().list_channels();
        let found = channels.iter().find(|known| known.user_channel_id.0 == channel);
        let state = match found {
            Some(known) if known.is_channel_ready => OpeningState::Open,
            Some(_) => OpeningState::Opening,
            None => OpeningState::Closed,
        };
        ChannelOpening { peer: peer.to_string(), state }
    }

    fn peer(&self, named: Option<&str>) -> Result<(PublicKey, SocketAddress), NodeError> {
        let invalid = |detail: &str| NodeError::InvalidPeer(detail.to_owned());
        match (named, &self.provider) {
            (None, Some(provider)) => Ok((provider.node_id, provider.address.clone())),
            (None, None) => Err(invalid("is required, because no liquidity provider is configured")),
            (Some(text), _) => {
                let form = || invalid("must be <node id>@<host>:<port>");
                let (id, address) = text.split_once('@').ok_or_else(form)?;
                let id = PublicKey::from_str(id).map_err(|_| form())?;
                Ok((id, SocketAddress::from_str(address).map_err(|_| form())?))
            }
        }
    }

    pub(crate) fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError> {
        let channels = self.node().list_channels();
        let channel = channels.iter().find(|channel| channel.channel_id.to_string() == id);
        let channel = channel.ok_or(NodeError::ChannelNotFound)?;
        let (channel_id, peer) = (&channel.user_channel_id, channel.counterparty_node_id);
        if force {
            let closed = self.node().force_close_channel(channel_id, peer, Some("closed by the operator".to_owned()));
            closed.map_err(|error| NodeError::Refused(error.to_string()))
        } else {
            self.node().close_channel(channel_id, peer).map_err(|_| {
                NodeError::Refused(
                    "the channel cannot be closed with the peer's agreement now: the peer is not connected, or the channel \
                     is being opened or closed"
                        .to_owned(),
                )
            })
        }
    }
}

fn storage(error: std::io::Error) -> NodeError {
    NodeError::Unavailable(error.to_string())
}
