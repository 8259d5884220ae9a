//! On-chain payments: each order has exactly one transaction.
//!
//! ```text
//! (none) ──made, signed and stored, in one step──▶ publishing ──six confirmations──────────────────▶ confirmed
//!                                                      └──six of another that spends its coins──▶ replaced
//! ```
//!
//! | crash … | what the next start does |
//! | --- | --- |
//! | before it is stored | it was not published: the repeated order creates another |
//! | after it is stored | it is published, every 30 seconds until it has six confirmations. The repeated order gets the same |
//!
//! Coins that stored transactions spend are not spent again, although the library learns of these transactions only
//! from the chain. The library might itself spend such a coin to force-close a channel: one of the two transactions is
//! then never confirmed, and is shown as replaced.

use std::io;
use std::str::FromStr as _;

use bdk_wallet::error::CreateTxError;
use bdk_wallet::{KeychainKind, SignOptions, Wallet};
use ldk_node::bitcoin::address::{Address, NetworkUnchecked};
use ldk_node::bitcoin::psbt::Psbt;
use ldk_node::bitcoin::{Amount, FeeRate, Network as BitcoinNetwork, OutPoint, ScriptBuf, Transaction};
use usher_engine::StreamId;
use usher_engine::ports::{
    NodeError, OnChainAmount, OnChainOrder, OnChainPrice, OnChainState, OnChainStatus, OnChainWish,
};
use usher_protocol::bolt11::Network;

use crate::node_context::NodeContext;
use crate::options::bitcoin_network;
use crate::send_records::{Send, SendState};
use crate::stored_wallet;

/// Confirmations after which a transaction is final.
const FINAL: u32 = 6;

/// The largest fee rate, in sats per 1,000 weight units: 1,000 sats per virtual byte. Requests cannot exceed it, and
/// higher estimates of a chain source are ignored.
const MAX_FEE_RATE: u64 = 250_000;

/// An unsigned transaction.
struct Draft {
    psbt: Psbt,
    /// Sats that the payee gets.
    amount: u64,
    /// Sats.
    fee: u64,
}

impl NodeContext {
    /// The current cost of an on-chain payment. Blocks.
    pub(crate) fn price_on_chain(&self, wish: &OnChainWish) -> Result<OnChainPrice, NodeError> {
        let payee = self.payee(&wish.address)?;
        self.check_coins_seen()?;
        let fee_rate = self.on_chain_fee_rate(wish.fee_rate)?;
        let mut wallet = self.wallet().map_err(storage)?;
        if wallet.is_mine(payee.clone()) {
            return Err(NodeError::InvalidAddress("is an address of this node".to_owned()));
        }
        let draft = self.draft(&mut wallet, &payee, wish.amount, fee_rate)?;
        Ok(OnChainPrice { amount: draft.amount * 1000, fee: draft.fee * 1000, fee_rate })
    }

    /// Sends money on chain, once per order. Blocks.
    pub(crate) fn send_on_chain(&self, order: &OnChainOrder) -> Result<OnChainStatus, NodeError> {
        // One at a time, so that no coin is spent twice.
        let _spending = self.spending.lock();
        if let Some(known) = self.look_up_on_chain(order.id)? {
            return Ok(known);
        }
        self.check_coins_seen()?;
        let payee = self.payee(&order.address)?;
        let mut wallet = self.wallet().map_err(storage)?;
        let Draft { psbt, amount, fee } = self.draft(&mut wallet, &payee, order.amount, order.fee_rate)?;
        if amount.saturating_add(fee).saturating_mul(1000) > order.most {
            return Err(NodeError::Refused(format!(
                "the balance has changed: with the fee {fee} sat it would be {} sat, and the request allows {} sat",
                amount.saturating_add(fee),
                order.most / 1000
            )));
        }
        let transaction = signed(&wallet, psbt)?;
        fail::fail_point!("before-on-chain-record", |_| std::process::abort());
        let send = Send { transaction, amount, fee, state: SendState::Publishing };
        self.store.begin_send(order.id, &send, self.now()).map_err(storage)?;
        fail::fail_point!("after-on-chain-record", |_| std::process::abort());
        self.to_publish.notify_one();
        Ok(status(&send, OnChainState::Unconfirmed))
    }

    pub(crate) fn look_up_on_chain(&self, order: StreamId) -> Result<Option<OnChainStatus>, NodeError> {
        let Some(send) = self.store.send(order).map_err(storage)? else { return Ok(None) };
        let state = match send.state {
            SendState::Confirmed => OnChainState::Confirmed { confirmations: FINAL },
            SendState::Replaced => OnChainState::Replaced,
            SendState::Publishing => {
                let wallet = stored_wallet::load(&self.store, self.root, self.bitcoin_network()).map_err(storage)?;
                let state = state(&wallet, &send.transaction);
                let end = match state {
                    OnChainState::Confirmed { confirmations: FINAL.. } => Some(SendState::Confirmed),
                    OnChainState::Replaced => Some(SendState::Replaced),
                    OnChainState::Confirmed { .. } | OnChainState::Unconfirmed => None,
                };
                if let Some(end) = end {
                    self.store.end_send(order, end, self.now()).map_err(storage)?;
                }
                state
            }
        };
        Ok(Some(status(&send, state)))
    }

    /// The on-chain balance after pending payments, in sats: total, spendable, and being sent including fees. `None` if
    /// nothing is being sent. Blocks.
    pub(crate) fn balance_with_sends(&self) -> io::Result<Option<(u64, u64, u64)>> {
        let publishing = self.store.publishing()?;
        if publishing.is_empty() {
            return Ok(None);
        }
        let seen = stored_wallet::load(&self.store, self.root, self.bitcoin_network())?;
        let sending = publishing
            .iter()
            .filter(|send| state(&seen, &send.transaction) == OnChainState::Unconfirmed)
            .map(|send| send.amount + send.fee)
            .sum();
        let balance = self.wallet()?.balance();
        Ok(Some((balance.total().to_sat(), balance.trusted_spendable().to_sat(), sending)))
    }

    /// Whether money is being sent with coins that the library still considers unspent: it learns of the transaction
    /// from the chain source.
    pub(crate) fn sends_coins_unseen(&self) -> io::Result<bool> {
        let publishing = self.store.publishing()?;
        if publishing.is_empty() {
            return Ok(false);
        }
        let wallet = stored_wallet::load(&self.store, self.root, self.bitcoin_network())?;
        Ok(publishing.iter().any(|send| wallet.get_tx(send.transaction.compute_txid()).is_none()))
    }

    /// The on-chain wallet including pending payments, whether or not the chain source has reported them.
    fn wallet(&self) -> io::Result<Wallet> {
        let mut wallet = stored_wallet::load(&self.store, self.root, self.bitcoin_network())?;
        let now = self.now();
        wallet.apply_unconfirmed_txs(self.store.publishing()?.into_iter().map(|send| (send.transaction, now)));
        Ok(wallet)
    }

    fn draft(
        &self,
        wallet: &mut Wallet,
        payee: &ScriptBuf,
        amount: OnChainAmount,
        fee_rate: u64,
    ) -> Result<Draft, NodeError> {
        let balance = wallet.balance();
        let kept = self.kept(&self.node().list_channels(), balance.total().to_sat());
        let spendable = balance.trusted_spendable().to_sat().saturating_sub(kept);
        let dust = payee.minimal_non_dust().to_sat();
        let too_little = |fee: Option<u64>| {
            let fee = fee.map_or_else(String::new, |fee| format!(" of {fee} sat"));
            NodeError::InvalidAmount(format!(
                "the node can spend {spendable} sat of its on-chain balance, which must also cover the miner fee{fee}; {kept} sat are \
                 kept for closing channels"
            ))
        };
        if let OnChainAmount::Exactly(millisats) = amount
            && millisats / 1000 < dust
        {
            return Err(NodeError::InvalidAmount(format!(
                "is dust: the network forwards no output of less than {dust} sat to this kind of address"
            )));
        }
        // Unconfirmed coins from others may never be confirmed.
        let untrusted: Vec<OutPoint> = wallet
            .list_unspent()
            .filter(|coin| coin.keychain == KeychainKind::External && coin.chain_position.is_unconfirmed())
            .map(|coin| coin.outpoint)
            .collect();
        let change = (kept > 0 && amount == OnChainAmount::All)
            .then(|| wallet.next_unused_address(KeychainKind::Internal).address.script_pubkey());
        let mut builder = wallet.build_tx();
        builder.fee_rate(FeeRate::from_sat_per_kwu(fee_rate)).unspendable(untrusted);
        match amount {
            OnChainAmount::Exactly(millisats) => {
                builder.add_recipient(payee.clone(), Amount::from_sat(millisats / 1000));
            }
            OnChainAmount::All => {
                builder.drain_wallet().drain_to(payee.clone());
            }
        }
        if let Some(change) = change {
            builder.add_recipient(change, Amount::from_sat(kept));
        }
        let psbt = builder.finish().map_err(|error| match error {
            CreateTxError::CoinSelection(_) | CreateTxError::OutputBelowDustLimit(_) => too_little(None),
            error => NodeError::Refused(error.to_string()),
        })?;
        let fee =
            wallet.calculate_fee(&psbt.unsigned_tx).map_err(|error| NodeError::Refused(error.to_string()))?.to_sat();
        let amount = match amount {
            OnChainAmount::Exactly(millisats) => millisats / 1000,
            OnChainAmount::All => {
                let (spent, _) = wallet.sent_and_received(&psbt.unsigned_tx);
                spent.to_sat().saturating_sub(kept).saturating_sub(fee)
            }
        };
        if amount.saturating_add(fee) > spendable || amount < dust {
            return Err(too_little(Some(fee)));
        }
        Ok(Draft { psbt, amount, fee })
    }

    fn check_coins_seen(&self) -> Result<(), NodeError> {
        if self.spends_coins_unseen() {
            return Err(NodeError::Refused(
                "the node has not seen the funding transaction of a channel on the chain yet, and could spend the same coins \
                 again: repeat the request in a minute"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Sats per 1,000 weight units.
    fn on_chain_fee_rate(&self, wanted: Option<u64>) -> Result<u64, NodeError> {
        let rate = match wanted {
            Some(per_virtual_byte) => per_virtual_byte.saturating_mul(250),
            None => self.fee_rate.get(self.now()).ok_or_else(|| {
                NodeError::InvalidFeeRate("is required, because the chain source names no fee rate now".to_owned())
            })?,
        };
        if rate > MAX_FEE_RATE {
            return Err(NodeError::InvalidFeeRate(format!(
                "is required: the chain source names {} sat per virtual byte, and more than {} are only paid when the request \
                 names them",
                rate / 250,
                MAX_FEE_RATE / 250
            )));
        }
        Ok(rate)
    }

    /// The output script of an address on this network.
    fn payee(&self, address: &str) -> Result<ScriptBuf, NodeError> {
        let unchecked = Address::<NetworkUnchecked>::from_str(address)
            .map_err(|error| NodeError::InvalidAddress(format!("is no Bitcoin address: {error}")))?;
        if !unchecked.is_valid_for_network(self.bitcoin_network()) {
            return Err(NodeError::InvalidAddress(format!(
                "is an address of {}, and wallet.network is {}",
                networks(&unchecked),
                self.network.as_str()
            )));
        }
        Ok(unchecked.assume_checked().script_pubkey())
    }

    const fn bitcoin_network(&self) -> BitcoinNetwork {
        bitcoin_network(self.network)
    }
}

/// The networks of an address, for messages; some share a format.
fn networks(address: &Address<NetworkUnchecked>) -> String {
    let of = Network::ALL.into_iter().filter(|network| address.is_valid_for_network(bitcoin_network(*network)));
    let names: Vec<_> = of.map(Network::as_str).collect();
    if names.is_empty() { "another network".to_owned() } else { names.join(" or ") }
}

fn signed(wallet: &Wallet, mut psbt: Psbt) -> Result<Transaction, NodeError> {
    #[allow(deprecated, reason = "the wallet has no other way to sign")]
    let is_complete = wallet.sign(&mut psbt, SignOptions::default());
    match is_complete {
        Ok(true) => psbt.extract_tx().map_err(|error| NodeError::Refused(error.to_string())),
        Ok(false) => Err(NodeError::Refused("the node has not all keys of its coins".to_owned())),
        Err(error) => Err(NodeError::Refused(error.to_string())),
    }
}

fn state(wallet: &Wallet, transaction: &Transaction) -> OnChainState {
    let tip = wallet.latest_checkpoint().height();
    let confirmations = |height: u32| tip.saturating_sub(height).saturating_add(1);
    let height = |id| wallet.get_tx(id).and_then(|known| known.chain_position.confirmation_height_upper_bound());
    let id = transaction.compute_txid();
    if let Some(height) = height(id) {
        return OnChainState::Confirmed { confirmations: confirmations(height) };
    }
    let is_replaced = transaction.input.iter().any(|input| {
        let spends = wallet.tx_graph().outspends(input.previous_output);
        spends
            .iter()
            .filter(|other| **other != id)
            .filter_map(|other| height(*other))
            .any(|at| confirmations(at) >= FINAL)
    });
    if is_replaced { OnChainState::Replaced } else { OnChainState::Unconfirmed }
}

fn status(send: &Send, state: OnChainState) -> OnChainStatus {
    OnChainStatus {
        transaction: send.transaction.compute_txid().to_string(),
        amount: send.amount * 1000,
        fee: send.fee * 1000,
        state,
    }
}

fn storage(error: io::Error) -> NodeError {
    NodeError::Unavailable(error.to_string())
}
