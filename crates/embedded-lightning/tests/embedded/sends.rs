//! Money leaves on chain: each order has one transaction, and no coin is spent twice.

use std::str::FromStr as _;
use std::sync::Arc;

use ldk_node::bip39::Mnemonic;
use ldk_node::bitcoin::bip32::{DerivationPath, Xpriv};
use ldk_node::bitcoin::secp256k1::{Message, Secp256k1};
use ldk_node::bitcoin::sighash::{EcdsaSighashType, SighashCache};
use ldk_node::bitcoin::{
    Address, Amount, CompressedPublicKey, KnownHrp, Network as BitcoinNetwork, Transaction, ecdsa,
};
use usher_embedded_lightning::EmbeddedLightning;
use usher_engine::StreamId;
use usher_engine::ports::{
    LightningNode as _, NodeError, NodeState, OnChainAmount, OnChainOrder, OnChainState, OnChainStatus, OnChainWish,
};
use usher_testing::soak;

use crate::child_process;
use crate::fixture::{Fixture, LONG, MNEMONIC, Setup, until, until_state};

/// Millisats of a payment.
const AMOUNT: u64 = 100_000_000;

/// Sats of each coin of the node.
const COIN: u64 = 300_000;

/// The key of an address, by the documented path.
fn key(change: u32, index: u32) -> Xpriv {
    let seed = Mnemonic::from_str(MNEMONIC).unwrap().to_seed("");
    let root = Xpriv::new_master(BitcoinNetwork::Regtest, &seed).unwrap();
    let path = DerivationPath::from_str(&format!("m/84'/1'/0'/{change}/{index}")).unwrap();
    root.derive_priv(&Secp256k1::new(), &path).unwrap()
}

fn public_key(change: u32, index: u32) -> CompressedPublicKey {
    CompressedPublicKey(key(change, index).private_key.public_key(&Secp256k1::new()))
}

fn own_address(change: u32, index: u32) -> Address {
    Address::p2wpkh(&public_key(change, index), KnownHrp::Regtest)
}

/// An address outside the node's wallet.
fn payee() -> Address {
    "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080".parse::<Address<_>>().unwrap().assume_checked()
}

fn wish(amount: OnChainAmount) -> OnChainWish {
    OnChainWish { address: payee().to_string(), amount, fee_rate: None }
}

fn order(number: u8, amount: OnChainAmount) -> OnChainOrder {
    let id = format!("01934b1c-8a34-7f3e-a1a5-0000000000{number:02x}").parse::<StreamId>().unwrap();
    OnChainOrder { id, address: payee().to_string(), amount, fee_rate: 250, most: u64::MAX }
}

/// With so many coins, and the provider's channels: none.
async fn with_coins(coins: usize) -> Fixture {
    let fixture = Fixture::start().await;
    for _ in 0..coins {
        let address: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
        fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(COIN)).unwrap();
    }
    let all = coins as u64 * COIN * 1000;
    until_state(&fixture, "balance on the chain", |state| state.on_chain.spendable == all).await;
    fixture
}

/// What the payee has got, in millisats.
fn got(fixture: &Fixture) -> u64 {
    let script = payee().script_pubkey();
    let outputs = fixture.network.chain.payments_to(&payee()).into_iter().flat_map(|transaction| transaction.output);
    outputs.filter(|output| output.script_pubkey == script).map(|output| output.value.to_sat() * 1000).sum()
}

async fn until_confirmed(fixture: &Fixture, order: &OnChainOrder, least: u32) -> OnChainStatus {
    until("confirmations", async || {
        let status = fixture.backend.look_up_on_chain(order.id).await.unwrap().unwrap();
        let is_confirmed = matches!(status.state, OnChainState::Confirmed { confirmations } if confirmations >= least);
        is_confirmed.then_some(status)
    })
    .await
}

/// Another wallet with the mnemonic finds the money: the addresses follow from the documented path.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_those_of_the_documented_path() {
    let fixture = Fixture::start().await;
    let known: Vec<_> = (0..50).map(|index| own_address(0, index).to_string()).collect();
    let first = fixture.backend.new_address().await.unwrap();
    let index = known.iter().position(|address| *address == first).expect("an address of the path");
    assert_eq!(fixture.backend.new_address().await.unwrap(), known[index + 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_carried_out_once_with_valid_signatures_and_the_sums_are_right() {
    let mut fixture = with_coins(2).await;
    let wanted = order(1, OnChainAmount::Exactly(AMOUNT));
    let price = fixture.backend.price_on_chain(&wish(wanted.amount)).await.unwrap();
    assert_eq!((price.amount, price.fee_rate), (AMOUNT, 250));
    let sent = fixture.backend.send_on_chain(&wanted).await.unwrap();
    assert_eq!((sent.amount, sent.state), (AMOUNT, OnChainState::Unconfirmed));
    assert!((141_000..145_000).contains(&sent.fee) && sent.fee == price.fee, "{sent:?}");
    // The balance changes immediately, before the transaction is on the chain.
    let state = fixture.backend.state().await.unwrap();
    let left = 2 * COIN * 1000 - AMOUNT - sent.fee;
    assert_eq!(
        (state.on_chain.total, state.on_chain.spendable, state.pending.sending),
        (left, left, AMOUNT + sent.fee)
    );
    for _ in 0..3 {
        assert_eq!(fixture.backend.send_on_chain(&wanted).await.unwrap().transaction, sent.transaction);
    }
    until("a published transaction", async || got(&fixture) == AMOUNT).await;
    fixture.restart().await;
    assert_eq!(fixture.backend.send_on_chain(&wanted).await.unwrap().transaction, sent.transaction);

    let transaction = fixture.network.chain.payments_to(&payee()).pop().unwrap();
    check_signatures(&fixture, &transaction).await;
    fixture.network.chain.mine(1).unwrap();
    until_confirmed(&fixture, &wanted, 1).await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.total, state.pending.sending), (left, 0));
    fixture.network.chain.mine(5).unwrap();
    let sixth = OnChainState::Confirmed { confirmations: 6 };
    assert_eq!(until_confirmed(&fixture, &wanted, 6).await, OnChainStatus { state: sixth, ..sent });
    assert_eq!(got(&fixture), AMOUNT);
}

/// The chain of the test checks none.
async fn check_signatures(fixture: &Fixture, transaction: &Transaction) {
    let secp = Secp256k1::new();
    for (number, input) in transaction.input.iter().enumerate() {
        let (signature, public) = (input.witness.nth(0).unwrap(), input.witness.nth(1).unwrap());
        let signature = ecdsa::Signature::from_slice(signature).unwrap();
        let public = CompressedPublicKey::from_slice(public).unwrap();
        let script = Address::p2wpkh(&public, KnownHrp::Regtest);
        let spent = fixture.network.chain.payments_to(&script);
        let spent = spent.iter().find(|spent| spent.compute_txid() == input.previous_output.txid).unwrap();
        let output = &spent.output[input.previous_output.vout as usize];
        assert_eq!(output.script_pubkey, script.script_pubkey());
        let mut cache = SighashCache::new(transaction);
        let hash =
            cache.p2wpkh_signature_hash(number, &output.script_pubkey, output.value, EcdsaSighashType::All).unwrap();
        secp.verify_ecdsa(&Message::from(hash), &signature.signature, &public.0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_refused_before_anything_happens() {
    let fixture = with_coins(1).await;
    let refused = async |wish: OnChainWish| fixture.backend.price_on_chain(&wish).await.unwrap_err();
    let own = fixture.backend.new_address().await.unwrap();
    let exactly = |sats: u64| wish(OnChainAmount::Exactly(sats * 1000));
    for (address, words) in [
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "of bitcoin, and wallet.network is regtest"),
        ("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "of testnet or signet, and wallet.network is regtest"),
        ("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "of bitcoin, and wallet.network is regtest"),
        ("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt081", "is no Bitcoin address"),
        ("nobody", "is no Bitcoin address"),
        (own.as_str(), "is an address of this node"),
    ] {
        let error = refused(OnChainWish { address: address.to_owned(), ..exactly(50_000) }).await;
        assert!(matches!(&error, NodeError::InvalidAddress(words_) if words_.contains(words)), "{address}: {error}");
    }
    for (sats, words) in
        [(293, "less than 294 sat"), (COIN, "300000 sat"), (COIN - 100, "fee"), (u64::MAX / 1000, "sat")]
    {
        let error = refused(exactly(sats)).await;
        assert!(matches!(&error, NodeError::InvalidAmount(words_) if words_.contains(words)), "{sats}: {error}");
    }
    let believed = refused(OnChainWish { fee_rate: Some(2_000), ..exactly(1_000) }).await;
    assert!(matches!(believed, NodeError::InvalidFeeRate(_)), "{believed}");
    let dear = fixture.backend.price_on_chain(&OnChainWish { fee_rate: Some(1_000), ..exactly(1_000) }).await.unwrap();
    assert!(dear.fee >= 140_000_000, "{dear:?}");
    let too_much = OnChainOrder { most: AMOUNT, ..order(1, OnChainAmount::Exactly(AMOUNT)) };
    assert!(matches!(fixture.backend.send_on_chain(&too_much).await, Err(NodeError::Refused(_))));
    assert_eq!(fixture.backend.look_up_on_chain(too_much.id).await, Ok(None));
    assert_eq!((fixture.network.chain.unconfirmed(), got(&fixture)), (0, 0));
}

/// More orders at once than there is money for: what is not refused arrives, and the sums are right.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_orders_at_once_spend_no_coin_twice() {
    let fixture = with_coins(5).await;
    let before = fixture.backend.state().await.unwrap().on_chain.total;
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..100 {
        let backend = Arc::clone(&fixture.backend);
        asked.spawn(async move { backend.send_on_chain(&order(number, OnChainAmount::Exactly(AMOUNT))).await });
    }
    let results = asked.join_all().await;
    let sent: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    let refused = results.iter().filter(|result| matches!(result, Err(NodeError::InvalidAmount(_)))).count();
    assert_eq!(sent.len() + refused, 100, "{results:?}");
    assert_eq!(sent.len(), 14, "1,500,000 sat are enough for so many and their fees");
    let spent: u64 = sent.iter().map(|sent| sent.amount + sent.fee).sum();
    until("published transactions", async || got(&fixture) == AMOUNT * 14).await;
    fixture.network.chain.mine(1).unwrap();
    until_state(&fixture, "confirmed transactions", |state| state.pending.sending == 0).await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.total, got(&fixture)), (before - spent, AMOUNT * 14));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_it_leaves_after_the_channels_are_closed() {
    let mut fixture = Fixture::start_funded().await;
    let channel = fixture.backend.channels().await.unwrap().pop().unwrap();
    fixture.backend.close_channel(&channel.id, false).await.unwrap();
    until("a closing transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "money on the chain", |state| state.on_chain.spendable > 100_000_000).await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.spendable, state.channels.usable), (state.on_chain.total, 0));
    let sent = fixture.backend.send_on_chain(&order(1, OnChainAmount::All)).await.unwrap();
    assert_eq!(sent.amount + sent.fee, state.on_chain.total);
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.total, state.on_chain.spendable, state.pending.sending), (0, 0, sent.amount + sent.fee));
    let nothing = fixture.backend.send_on_chain(&order(2, OnChainAmount::All)).await;
    assert!(matches!(nothing, Err(NodeError::InvalidAmount(_))), "{nothing:?}");
    until("a published transaction", async || got(&fixture) == sent.amount).await;
    fixture.network.chain.mine(6).unwrap();
    until_confirmed(&fixture, &order(1, OnChainAmount::All), 6).await;
    fixture.restart().await;
    assert_eq!(fixture.backend.state().await.unwrap().on_chain.total, 0);
}

/// With a channel with another peer than the provider, the reserve stays.
#[tokio::test(flavor = "multi_thread")]
async fn all_of_it_leaves_the_reserve_of_channels() {
    let fixture = with_coins(5).await;
    let payer = &fixture.network.payer;
    let peer = Some(format!("{}@{}", payer.id(), payer.address()));
    let wanted = usher_engine::ports::WantedChannel { key: None, peer, amount: 1_000_000_000 };
    fixture.backend.open_channel(&wanted).await.unwrap();
    let early = fixture.backend.send_on_chain(&order(1, OnChainAmount::All)).await;
    assert!(matches!(early, Err(NodeError::Refused(_))), "coins of the funding transaction: {early:?}");
    until("a funding transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "an open channel", |state| state.channels.usable == 1 && state.on_chain.total < 500_000_000)
        .await;
    let before = fixture.backend.state().await.unwrap();
    let sent = fixture.backend.send_on_chain(&order(2, OnChainAmount::All)).await.unwrap();
    assert_eq!(sent.amount + sent.fee, before.on_chain.spendable);
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.total, state.on_chain.spendable, state.on_chain.reserved), (25_000_000, 0, 25_000_000));
    // Nor does the next channel take coins that are being sent.
    let other = fixture.backend.open_channel(&wanted).await;
    assert!(matches!(other, Err(NodeError::InvalidAmount(_))), "{other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_the_chain_source_refuses_is_published_again() {
    let mut fixture = with_coins(1).await;
    fixture.network.chain.set_takes_transactions(false);
    let sent = fixture.backend.send_on_chain(&order(1, OnChainAmount::Exactly(AMOUNT))).await.unwrap();
    fixture.restart().await;
    assert_eq!(got(&fixture), 0);
    let state = fixture.backend.state().await.unwrap();
    assert_eq!(state.pending.sending, sent.amount + sent.fee);
    fixture.network.chain.set_takes_transactions(true);
    until("a published transaction", async || got(&fixture) == AMOUNT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_instant_of_an_order() {
    for fail_point in ["before-on-chain-record=return", "after-on-chain-record=return"] {
        kill_and_check(fail_point).await;
    }
    for write in soak::chosen(4) {
        kill_and_check(&format!("before-lightning-write={write}*off->return")).await;
    }
}

/// Sends in another process that ends at `fail_point`; then repeats the order here.
async fn kill_and_check(fail_point: &str) {
    let mut fixture = with_coins(3).await;
    let before = fixture.backend.state().await.unwrap().on_chain.total;
    fixture.release_folder().await;
    child_process::run(&fixture, "sends::in_another_process", fail_point, &[]).await;
    fixture.start_again().await;
    let known = fixture.backend.look_up_on_chain(order(1, OnChainAmount::Exactly(AMOUNT)).id).await.unwrap();
    let mut sent = fixture.backend.send_on_chain(&order(1, OnChainAmount::Exactly(AMOUNT))).await.unwrap();
    if let Some(known) = known {
        assert_eq!(known.transaction, sent.transaction, "{fail_point}");
    }
    until("a published transaction", async || got(&fixture) > 0).await;
    fixture.network.chain.mine(6).unwrap();
    sent = until_confirmed(&fixture, &order(1, OnChainAmount::Exactly(AMOUNT)), 6).await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.on_chain.total, got(&fixture)), (before - sent.amount - sent.fee, AMOUNT), "{fail_point}");
}

/// Not a test: the body of the child process, without effect otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, fail_point)) = child_process::requested() else { return };
    let backend = ready(&setup).await;
    child_process::arm(&fail_point);
    let _ = backend.send_on_chain(&order(1, OnChainAmount::Exactly(AMOUNT))).await;
    // A later write of the node ends the process.
    tokio::time::sleep(LONG).await;
}

async fn ready(setup: &Setup) -> Arc<EmbeddedLightning> {
    let (backend, mut notifications) = setup.start().await;
    tokio::spawn(async move { while notifications.recv().await.is_some() {} });
    let is_ready = |state: NodeState| {
        state.on_chain.spendable > 0 && !state.warnings.iter().any(|warning| warning.code == "not_running")
    };
    until("a node with money", async || backend.state().await.is_ok_and(is_ready)).await;
    backend
}
