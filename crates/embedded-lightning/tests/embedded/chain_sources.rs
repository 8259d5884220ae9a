//! The node's requests to its chain source before it runs, and the chain data of a new node.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ldk_node::bitcoin::{Address, Amount};
use tempfile::TempDir;
use usher_embedded_lightning::{ChainAccess, EmbeddedLightning, Options, Tip};
use usher_engine::ports::{Lightning as _, LightningNode as _, NodeState, SystemClock};
use usher_lightning_network::Network;
use usher_protocol::bolt11;

use crate::child_process;
use crate::fixture::{Setup, stored, until};

/// Has these ends of its chain, one at each question, and then the last one.
struct Serves(Vec<Result<Tip, String>>, AtomicUsize);

const fn tip(network: bolt11::Network, height: u32) -> Tip {
    Tip { network, height }
}

#[async_trait]
impl ChainAccess for Serves {
    async fn tip(&self) -> Result<Tip, String> {
        let asked = self.1.fetch_add(1, Ordering::SeqCst);
        self.0[asked.min(self.0.len() - 1)].clone()
    }

    async fn publish(&self, _transaction: &[u8]) -> Result<(), String> {
        Ok(())
    }

    async fn fee_rate(&self) -> Result<f64, String> {
        Err("none".to_owned())
    }
}

async fn start(options: Options) -> Arc<EmbeddedLightning> {
    EmbeddedLightning::start(options, Arc::new(SystemClock)).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_before_the_chain_source_is_of_the_right_network() {
    let (network, folder) = (Network::start_copy().await.unwrap(), TempDir::new().unwrap());
    let setup = Setup::of(&network, folder.path());
    let wrong = Arc::new(Serves(vec![Ok(tip(bolt11::Network::Signet, 200_000))], AtomicUsize::new(0)));
    let chain: Arc<dyn ChainAccess> = wrong.clone();
    let node = start(Options { chain_access: Some(chain), ..setup.options() }).await;
    until("a second question", async || wrong.1.load(Ordering::SeqCst) >= 2).await;
    assert!(!node.status().connected);
    let state = node.state().await.unwrap();
    assert!(state.node_id.len() == 66 && state.warnings.iter().any(|it| it.code == "not_running"), "{state:?}");
    node.stop().await;
    assert_eq!(stored(folder.path()), 0);

    let later = vec![Err("it is away".to_owned()), Ok(tip(bolt11::Network::Regtest, 1_000))];
    let chain: Arc<dyn ChainAccess> = Arc::new(Serves(later, AtomicUsize::new(0)));
    let node = start(Options { chain_access: Some(chain), ..setup.options() }).await;
    until("a started node", async || node.status().connected).await;
    assert_eq!(node.state().await.unwrap().node_id, state.node_id, "the draft showed the same node");
    let state = node.state().await.unwrap();
    node.stop().await;
    assert!(stored(folder.path()) > 0);

    // One with fewer blocks than the node has seen would make the library close its channels.
    let behind = Arc::new(Serves(vec![Ok(tip(bolt11::Network::Regtest, state.height - 1))], AtomicUsize::new(0)));
    let chain: Arc<dyn ChainAccess> = behind.clone();
    let node = start(Options { chain_access: Some(chain), ..setup.options() }).await;
    until("a second question", async || behind.1.load(Ordering::SeqCst) >= 2).await;
    assert!(!node.status().connected);
    assert_eq!(node.state().await.unwrap().height, state.height);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_anew_finds_its_money_on_the_chain() {
    let (network, lost) = (Network::start_copy().await.unwrap(), TempDir::new().unwrap());
    let node = start(Setup::of(&network, lost.path()).options()).await;
    until("a started node", async || node.status().connected).await;
    let address: Address<_> = node.new_address().await.unwrap().parse().unwrap();
    network.chain.fund(&address.assume_checked(), Amount::from_sat(50_000)).unwrap();
    network.chain.mine(6).unwrap();
    until_money(&node, |state| state.on_chain.total == 50_000_000).await;
    node.stop().await;

    // A bitcoind is only asked for new blocks, unless the operator configures all.
    let synced = |state: &NodeState| state.height == u32::try_from(network.chain.height()).unwrap();
    for (recover, found) in [(false, 0), (true, 50_000_000)] {
        let folder = TempDir::new().unwrap();
        let node = start(Options { recover, ..Setup::of(&network, folder.path()).options() }).await;
        until_money(&node, |state| state.synced_at.is_some() && synced(state)).await;
        assert_eq!(node.state().await.unwrap().on_chain.total, found, "recover = {recover}");
        node.stop().await;
    }

    let folder = TempDir::new().unwrap();
    let chain = usher_embedded_lightning::ChainSource::Esplora { url: network.chain.esplora_url(), token: None };
    let node = start(Options { chain, ..Setup::of(&network, folder.path()).options() }).await;
    until_money(&node, |state| state.on_chain.total == 50_000_000).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_write_of_a_first_start_leaves_a_node_that_starts() {
    let network = Network::start_copy().await.unwrap();
    for write in 0..5 {
        let folder = TempDir::new().unwrap();
        let fail_point = format!("before-lightning-write={write}*off->return");
        let setup = Setup::of(&network, folder.path());
        child_process::run_on(setup, "chain_sources::in_another_process", &fail_point, &[]).await;
        let node = start(Setup::of(&network, folder.path()).options()).await;
        until("a started node", async || node.status().connected).await;
        until_money(&node, |state| state.synced_at.is_some()).await;
        node.stop().await;
    }
}

/// Not a test: the body of the child process, without effect otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, fail_point)) = child_process::requested() else { return };
    child_process::arm(&fail_point);
    let _running = EmbeddedLightning::start(setup.options(), Arc::new(SystemClock)).await.unwrap();
    tokio::time::sleep(crate::fixture::LONG).await;
}

async fn until_money(node: &EmbeddedLightning, holds: impl Fn(&NodeState) -> bool) {
    until("money", async || holds(&node.state().await.unwrap())).await;
}
