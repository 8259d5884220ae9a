//! What the operator sees of the node, and does with its channels.

use std::time::Duration;

use ldk_node::bitcoin::{Address, Amount};
use usher_engine::ports::{
    Closures, IdempotencyKey, Lightning as _, LightningNode as _, NodeChannels, NodeError, OpeningState, ReceivingCost,
    WantedChannel,
};
use usher_lightning_network::Network;

use crate::fixture::{Fixture, LONG, bolt11, until, until_state, wanted};

fn codes(state: &usher_engine::ports::NodeState) -> Vec<&'static str> {
    state.warnings.iter().map(|warning| warning.code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_price_of_a_channel_is_told_before_it_is_paid_and_shown_afterwards() {
    let mut fixture = Fixture::start().await;
    let new = fixture.backend.state().await.unwrap();
    assert_eq!((new.channels, new.inbound, new.skimmed_fees), (NodeChannels::default(), 0, 0));
    assert!(new.synced_at.is_some() && new.height > 0, "{new:?}");

    let cost = fixture.backend.receiving_cost(50_000_000).await;
    assert_eq!(cost, Ok(ReceivingCost { opens_channel: true, opening_fee: 2_000_000 }));
    let too_much = fixture.backend.receiving_cost(Network::MAX_PAYMENT + 1).await.unwrap_err();
    assert!(too_much.to_string().contains("opens no channel for this amount"), "{too_much}");
    let expensive = fixture.backend.receiving_cost(3_000_000).await.unwrap_err();
    assert!(expensive.to_string().contains("max_opening_fee_percent allows 1500000 msat"), "{expensive}");

    let invoice = fixture.backend.make_invoice(&wanted(50_000_000)).await.unwrap();
    fixture.network.payer.pay(&bolt11(&invoice)).await.unwrap();
    fixture.settlement(&invoice).await;
    fixture.until_channel_is_usable().await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!(state.skimmed_fees, 2_000_000);
    assert_eq!(state.channels, NodeChannels { usable: 1, unusable: 0, capacity: 96_000_000 });
    assert!(state.outbound > 40_000_000 && state.inbound > 0, "{state:?}");
    let free = fixture.backend.receiving_cost(1_000_000).await;
    assert_eq!(free, Ok(ReceivingCost { opens_channel: false, opening_fee: 0 }));

    let channel = fixture.backend.channels().await.unwrap().pop().unwrap();
    assert_eq!(channel.peer, fixture.network.provider.id().to_string());
    assert!(!channel.opened_by_service && channel.usable && channel.funding.is_some(), "{channel:?}");

    // Closed with the provider's agreement: the money is on the chain, and nothing is warned of.
    fixture.network.mine(6).await.unwrap();
    let unknown = fixture.backend.close_channel("00", false).await;
    assert_eq!(unknown, Err(NodeError::ChannelNotFound));
    fixture.backend.close_channel(&channel.id, false).await.unwrap();
    until("a closing transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    // The money is counted once at most while the wallet may or may not have seen the transaction, and once from its block on,
    // although the library waits for more.
    for _ in 0..20 {
        let state = fixture.backend.state().await.unwrap();
        assert!(state.on_chain.total + state.pending.closing < 60_000_000, "{state:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.network.mine(1).await.unwrap();
    until_state(&fixture, "money on the chain", |state| {
        state.on_chain.total > 40_000_000 && state.pending.closing == 0
    })
    .await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!(state.closures, Closures { cooperative: 1, forced: 0, after_kill: 0 });
    assert!(!codes(&state).contains(&"forced_closure"), "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_is_opened_once_for_each_key_also_after_a_restart() {
    let mut fixture = Fixture::start().await;
    let wanted = WantedChannel { key: Some(IdempotencyKey([1; 32])), peer: None, amount: 1_000_000_000 };
    let poor = fixture.backend.open_channel(&wanted).await.unwrap_err();
    assert!(matches!(&poor, NodeError::InvalidAmount(text) if text.contains("can spend 0 sat")), "{poor:?}");

    let address: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
    fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(5_000_000)).unwrap();
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "balance on the chain", |state| state.on_chain.spendable == 5_000_000_000).await;

    let opened = fixture.backend.open_channel(&wanted).await.unwrap();
    assert_eq!((opened.peer, opened.state), (fixture.network.provider.id().to_string(), OpeningState::Opening));
    until("a funding transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    assert_eq!(fixture.backend.open_channel(&wanted).await.unwrap().state, OpeningState::Opening);
    fixture.restart().await;
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "open channel", |state| state.channels.usable == 1).await;
    assert_eq!(fixture.backend.open_channel(&wanted).await.unwrap().state, OpeningState::Open);
    let channels = fixture.backend.channels().await.unwrap();
    assert_eq!(channels.len(), 1, "{channels:?}");
    assert!(channels[0].opened_by_service && channels[0].capacity == 1_000_000_000, "{channels:?}");

    let other = WantedChannel { amount: 900_000_000, ..wanted.clone() };
    assert!(matches!(fixture.backend.open_channel(&other).await, Err(NodeError::Refused(_))));
    let nobody = WantedChannel { key: None, peer: Some("nobody".to_owned()), amount: 1_000_000 };
    assert!(matches!(fixture.backend.open_channel(&nobody).await, Err(NodeError::InvalidPeer(_))));

    // Without the peer's agreement: counted, warned of, and the money returns after the time lock.
    fixture.backend.close_channel(&channels[0].id, true).await.unwrap();
    until_state(&fixture, "a counted closure", |state| state.closures.forced == 1).await;
    let state = fixture.backend.state().await.unwrap();
    assert!(codes(&state).contains(&"forced_closure") && state.pending.closing > 900_000_000, "{state:?}");
    assert_eq!(fixture.backend.open_channel(&wanted).await.unwrap().state, OpeningState::Closed);
}

/// The wallet learns of a funding transaction from the chain: until then it would spend the same coins for the next channel.
#[tokio::test(flavor = "multi_thread")]
async fn a_channel_is_not_opened_with_coins_of_another() {
    let fixture = Fixture::start().await;
    let address: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
    fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(5_000_000)).unwrap();
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "balance on the chain", |state| state.on_chain.spendable == 5_000_000_000).await;

    let wanted = |key| WantedChannel { key: Some(IdempotencyKey([key; 32])), peer: None, amount: 1_000_000_000 };
    assert_eq!(fixture.backend.open_channel(&wanted(1)).await.unwrap().state, OpeningState::Opening);
    let early = fixture.backend.open_channel(&wanted(2)).await;
    assert!(matches!(&early, Err(NodeError::Refused(reason)) if reason.contains("another channel")), "{early:?}");
    assert_eq!(fixture.backend.open_channel(&wanted(1)).await.unwrap().state, OpeningState::Opening);

    // It looks every two seconds, and may see a transaction in its block only.
    let opened = async {
        while let Err(refused) = fixture.backend.open_channel(&wanted(2)).await {
            assert!(matches!(refused, NodeError::Refused(_)), "{refused:?}");
            tokio::time::sleep(Duration::from_secs(1)).await;
            fixture.network.mine(1).await.unwrap();
        }
    };
    tokio::time::timeout(LONG, opened).await.unwrap();
    until("a funding transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "two open channels", |state| state.channels.usable == 2).await;
    let state = fixture.backend.state().await.unwrap();
    assert!(state.on_chain.total < 3_000_000_000 && state.on_chain.total > 2_990_000_000, "{state:?}");
}
