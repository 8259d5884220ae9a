//! Other nodes connect to this one, among connections that only take room.

use std::collections::VecDeque;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::bitcoin::{Address, Amount};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use usher_embedded_lightning::{EmbeddedLightning, Options};
use usher_engine::ports::{Lightning as _, LightningNode as _, LightningNotifications, SystemClock};
use usher_lightning_network::Peer;

use crate::child_process;
use crate::fixture::{Fixture, LONG, Setup, until, until_state};

/// What looks like act one of the handshake: version 0 and a public key, but a tag that no node accepts.
const ACT_ONE: [u8; 50] = {
    let mut act_one = [2; 50];
    act_one[0] = 0;
    act_one
};

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_opens_a_channel_through_a_flood() {
    let mut fixture = Fixture::start().await;
    fixture.release_folder().await;
    let address = free_address();
    (fixture.backend, fixture.notifications) =
        start(&Setup::of(&fixture.network, fixture.folder.path()), address).await;
    fixture.until_connected().await;
    // Without coins to close it, the node accepts no channel of just anybody.
    let own: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
    fixture.network.chain.fund(&own.assume_checked(), Amount::from_sat(1_000_000)).unwrap();
    fixture.network.mine(6).await.unwrap();
    until_state(&fixture, "balance on the chain", |state| state.on_chain_spendable > 0).await;

    let flood = tokio::spawn(flood(address));
    let id = node_id(&fixture.backend).await;
    let payer = &fixture.network.payer;
    until_connected(payer, id, address).await;
    let (node, before) = (Arc::clone(payer.node()), payer.usable_channels());
    let opening = move || node.open_channel(id, address.into(), 1_000_000, Some(400_000_000), None);
    tokio::task::spawn_blocking(opening).await.unwrap().unwrap();
    until("a funding transaction", || fixture.network.chain.unconfirmed() > 0).await;
    fixture.network.mine(6).await.unwrap();
    until("a channel that the peer can use", || fixture.network.payer.usable_channels() > before).await;
    until_state(&fixture, "channel of the peer", |state| state.channels.usable == 1).await;
    assert!(!flood.is_finished());
    flood.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_free_files_accepts_peers_again_when_there_are_some() {
    let mut fixture = Fixture::start().await;
    let id = node_id(&fixture.backend).await;
    fixture.release_folder().await;
    let address = free_address();
    let variables = [("USHER_TEST_LISTEN", address.to_string())];
    let other = child_process::run(&fixture, "peer_floods::in_another_process", "none=off", &variables);
    let flooding = async {
        let folder = fixture.folder.path();
        until("a node with few files", || folder.join("few-files").exists()).await;
        let mut connections = Vec::new();
        for number in 0..200 {
            connections.push(connect(number, address).await.expect("a place in the queue"));
        }
        // Some of them ask the library for files, too.
        for connection in &mut connections {
            let _ = connection.write_all(&ACT_ONE).await;
        }
        until("a node without free files", || folder.join("no-files").exists()).await;
        drop(connections);
        until_connected(&fixture.network.payer, id, address).await;
        File::create(folder.join("end")).unwrap();
    };
    tokio::join!(other, flooding);
}

/// Not a test: the node in the other process, which may open few files more than it has. It does nothing unless it was asked.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, _)) = child_process::requested() else { return };
    let address = child_process::variable("USHER_TEST_LISTEN").parse().unwrap();
    let (node, mut notifications) = start(&setup, address).await;
    tokio::spawn(async move { while notifications.recv().await.is_some() {} });
    until("a started node", || node.status().connected).await;
    let few = setup.folder.join("few-files");
    let limit = getrlimit(Resource::Nofile);
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 40), ..limit }).unwrap();
    File::create(&few).unwrap();
    until("no free file", || File::open("/dev/null").is_err()).await;
    // That takes no file.
    std::fs::rename(few, setup.folder.join("no-files")).unwrap();
    // The other side has its limits of time.
    while !setup.folder.join("end").exists() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    std::process::abort();
}

/// Starts the node with a port for peers.
async fn start(setup: &Setup, listen: SocketAddr) -> (Arc<EmbeddedLightning>, LightningNotifications) {
    let options = Options { listen: Some(listen), ..setup.options() };
    EmbeddedLightning::start(options, Arc::new(SystemClock)).await.unwrap()
}

fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, usher_loopback_port::free().unwrap()).into()
}

async fn node_id(node: &EmbeddedLightning) -> PublicKey {
    node.state().await.unwrap().node_id.parse().unwrap()
}

/// Connects again and again from many addresses, and keeps 600 connections open. Most are silent.
async fn flood(to: SocketAddr) {
    let mut connections = VecDeque::new();
    for number in 0.. {
        let Ok(mut connection) = connect(number, to).await else { continue };
        if number % 4 == 0 {
            let _ = connection.write_all(&ACT_ONE).await;
        }
        connections.push_back(connection);
        if connections.len() > 600 {
            connections.pop_front();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Connects from one of a thousand addresses.
async fn connect(number: u32, to: SocketAddr) -> std::io::Result<TcpStream> {
    let source = Ipv4Addr::from_bits(Ipv4Addr::new(127, 1, 0, 1).to_bits() + number % 1_000);
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    socket.connect(to).await
}

/// Lets a peer try to connect until it is connected.
async fn until_connected(peer: &Peer, id: PublicKey, address: SocketAddr) {
    let connecting = async {
        loop {
            let node = Arc::clone(peer.node());
            let connected = tokio::task::spawn_blocking(move || node.connect(id, address.into(), false)).await.unwrap();
            if connected.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONG, connecting).await.expect("a connection in time");
}
