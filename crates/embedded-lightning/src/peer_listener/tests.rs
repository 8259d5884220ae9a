//! The listener over real sockets, in front of a stand-in for the library.

use std::net::IpAddr;

use super::*;

/// Longer than anything takes on any machine.
const LONG: Duration = Duration::from_secs(60);

/// For the limit that a test reaches.
const SHORT: Duration = Duration::from_millis(100);

const WELCOME: &[u8] = b"the library's first message";

/// No time runs out.
const PATIENT: Limits = Limits { total: 16, per_source: 2, act_one: LONG, handshake: LONG, idle: LONG };

struct Service {
    address: SocketAddr,
    library: TcpListener,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

impl Service {
    async fn start(limits: Limits) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), limits).await
    }

    async fn start_at(address: SocketAddr, limits: Limits) -> Self {
        let peers = PeerListener { limits, ..PeerListener::bind(address).unwrap() };
        let library = TcpListener::bind(peers.library_address()).await.unwrap();
        let (address, stop) = (peers.listener.local_addr().unwrap(), CancellationToken::new());
        let running = tokio::runtime::Handle::current().spawn(peers.run(stop.clone()));
        Self { address, library, stop, running }
    }

    async fn connect(&self, last: u8) -> TcpStream {
        connect_from([127, 1, 0, last].into(), self.address).await
    }

    /// Connects and finishes the handshake; returns both ends.
    async fn establish(&self, last: u8) -> (TcpStream, TcpStream) {
        let mut peer = self.connect(last).await;
        peer.write_all(&act_one()).await.unwrap();
        let mut library = self.accept().await;
        library.write_all(&[7; ACT_TWO]).await.unwrap();
        assert_eq!(read(&mut peer, ACT_TWO).await, [7; ACT_TWO]);
        peer.write_all(&[3; ACT_THREE]).await.unwrap();
        assert_eq!(read(&mut library, ACT_THREE).await, [3; ACT_THREE]);
        library.write_all(WELCOME).await.unwrap();
        assert_eq!(read(&mut peer, WELCOME.len()).await, WELCOME);
        (peer, library)
    }

    /// The library gets a connection, which begins with act one.
    async fn accept(&self) -> TcpStream {
        let (mut library, _) = timeout(LONG, self.library.accept()).await.expect("a connection in time").unwrap();
        assert_eq!(read(&mut library, ACT_ONE).await, act_one());
        library
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(LONG, self.running).await.expect("an end in time").unwrap();
    }
}

fn act_one() -> [u8; ACT_ONE] {
    let mut act_one = [9; ACT_ONE];
    [act_one[0], act_one[1]] = [0, 2];
    act_one
}

/// On Linux, each address of 127.0.0.0/8 is the machine's own.
async fn connect_from(source: IpAddr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    timeout(LONG, socket.connect(to)).await.expect("a connection in time").unwrap()
}

async fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    timeout(LONG, stream.read_exact(&mut bytes)).await.expect("bytes in time").unwrap();
    bytes
}

/// Waits until the other side has closed the connection, and sent nothing more.
async fn assert_closed(stream: &mut TcpStream) {
    let read = timeout(LONG, stream.read(&mut [0; 100])).await.expect("an end in time");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

async fn assert_passes(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    from.write_all(bytes).await.unwrap();
    assert_eq!(read(to, bytes.len()).await, bytes);
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let service = Service::start(Limits { act_one: SHORT, ..PATIENT }).await;
    let (mut silent, mut slow) = (service.connect(1).await, service.connect(2).await);
    slow.write_all(&act_one()[..ACT_ONE - 1]).await.unwrap();
    assert_closed(&mut silent).await;
    assert_closed(&mut slow).await;
}

#[tokio::test]
async fn what_is_no_handshake_is_closed_at_once() {
    let service = Service::start(PATIENT).await;
    for garbage in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"\x16\x03\x01\x02", b"\0\x04", b"\x01\x02"] {
        let mut peer = service.connect(1).await;
        peer.write_all(garbage).await.unwrap();
        assert_closed(&mut peer).await;
    }
}

#[tokio::test]
async fn a_handshake_must_end() {
    let service = Service::start(Limits { handshake: SHORT, ..PATIENT }).await;
    let mut peer = service.connect(1).await;
    peer.write_all(&act_one()).await.unwrap();
    let mut library = service.accept().await;
    // The time may be over before that on a slow machine.
    let _ = library.write_all(&[7; ACT_TWO]).await;
    assert_closed(&mut library).await;
    let ended = timeout(LONG, peer.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok(), "a handshake without end");
}

#[tokio::test]
async fn a_peer_that_the_library_refuses_is_closed() {
    let service = Service::start(PATIENT).await;
    let mut wrong_tag = service.connect(1).await;
    wrong_tag.write_all(&act_one()).await.unwrap();
    drop(service.accept().await);
    assert_closed(&mut wrong_tag).await;

    let mut wrong_key = service.connect(1).await;
    wrong_key.write_all(&act_one()).await.unwrap();
    let mut library = service.accept().await;
    library.write_all(&[7; ACT_TWO]).await.unwrap();
    read(&mut wrong_key, ACT_TWO).await;
    wrong_key.write_all(&[3; ACT_THREE]).await.unwrap();
    read(&mut library, ACT_THREE).await;
    drop(library);
    assert_closed(&mut wrong_key).await;
}

#[tokio::test]
async fn bytes_pass_both_ways_until_one_side_ends() {
    let service = Service::start(PATIENT).await;
    let long: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let (mut peer, mut library) = service.establish(1).await;
    assert_passes(&mut peer, &mut library, b"ping").await;
    assert_passes(&mut library, &mut peer, b"pong").await;
    let (sent, received) = tokio::join!(peer.write_all(&long), read(&mut library, long.len()));
    sent.unwrap();
    assert!(received == long);
    drop(peer);
    assert_closed(&mut library).await;

    let (mut peer, mut library) = service.establish(1).await;
    library.write_all(b"last words").await.unwrap();
    drop(library);
    assert_eq!(read(&mut peer, 10).await, b"last words");
    assert_closed(&mut peer).await;
}

#[tokio::test]
async fn an_established_peer_that_falls_silent_is_closed() {
    let service = Service::start(Limits { idle: SHORT, ..PATIENT }).await;
    let (mut peer, mut library) = service.establish(1).await;
    assert_closed(&mut peer).await;
    assert_closed(&mut library).await;
}

#[tokio::test]
async fn established_peers_stay_in_a_flood_and_new_ones_get_in() {
    let service = Service::start(PATIENT).await;
    let (mut old, mut old_library) = service.establish(1).await;
    let mut flood = Vec::new();
    for last in 2..=250 {
        flood.push(service.connect(last).await);
    }
    let (mut new, mut new_library) = service.establish(251).await;
    for last in 2..=250 {
        flood.push(service.connect(last).await);
    }
    assert_passes(&mut old, &mut old_library, b"still here").await;
    assert_passes(&mut new_library, &mut new, b"here as well").await;
    // All but the last ones had to make room.
    for silent in flood.iter_mut().take(450) {
        assert_closed(silent).await;
    }
}

#[tokio::test]
async fn established_peers_of_one_address_and_of_all_are_limited() {
    let service = Service::start(Limits { total: 3, ..PATIENT }).await;
    let (mut first, mut first_library) = service.establish(1).await;
    let second = service.establish(1).await;
    assert_closed(&mut service.connect(1).await).await;
    let _third = service.establish(2).await;
    assert_closed(&mut service.connect(3).await).await;
    assert_passes(&mut first, &mut first_library, b"undisturbed").await;

    // A peer that is gone leaves its place to another.
    let (peer, mut library) = second;
    drop(peer);
    assert_closed(&mut library).await;
    service.establish(3).await;
}

#[tokio::test]
async fn peers_are_turned_away_while_the_library_does_not_listen() {
    let peers = PeerListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, stop) = (peers.listener.local_addr().unwrap(), CancellationToken::new());
    let library = peers.library_address();
    let running = tokio::runtime::Handle::current().spawn(peers.run(stop.clone()));
    let mut peer = connect_from([127, 0, 0, 1].into(), address).await;
    peer.write_all(&act_one()).await.unwrap();
    assert_closed(&mut peer).await;

    // Its port is still free when it does.
    let library = TcpListener::bind(library).await.unwrap();
    let mut peer = connect_from([127, 0, 0, 1].into(), address).await;
    peer.write_all(&act_one()).await.unwrap();
    timeout(LONG, library.accept()).await.expect("a connection in time").unwrap();
    stop.cancel();
    timeout(LONG, running).await.expect("an end in time").unwrap();
}

#[tokio::test]
async fn a_stop_closes_everything() {
    let service = Service::start(PATIENT).await;
    let mut silent = service.connect(1).await;
    let (mut peer, mut library) = service.establish(2).await;
    let (address, library_address) = (service.address, service.library.local_addr().unwrap());
    service.stop().await;
    for stream in [&mut silent, &mut peer, &mut library] {
        assert_closed(stream).await;
    }
    drop(PeerListener::bind(address).unwrap());
    drop(std::net::TcpListener::bind(library_address).unwrap());
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let service = Service::start(PATIENT).await;
    assert_eq!(PeerListener::bind(service.address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn peers_connect_over_ipv6() {
    // Not every machine has it.
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let service = Service::start_at("[::1]:0".parse().unwrap(), PATIENT).await;
    let mut peer = TcpStream::connect(service.address).await.unwrap();
    peer.write_all(&act_one()).await.unwrap();
    service.accept().await;
}

#[cfg(target_os = "linux")]
#[test]
fn nobody_else_gets_the_port_of_the_library() {
    let (address, reservation) = reserve().unwrap();
    assert!(reservation.is_some());
    // Those who take any port get others; there are not so many that all could be tried here.
    let others: Vec<_> = (0..200).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    assert!(others.iter().all(|other| other.local_addr().unwrap() != address));
    let library = std::net::TcpListener::bind(address).unwrap();
    std::net::TcpStream::connect(address).unwrap();
    drop(library);
    // It is the library's again after a stop, although a connection has just ended.
    std::net::TcpListener::bind(address).unwrap();
}

#[test]
fn warnings_are_seldom() {
    let warning = Warning::default();
    assert_eq!([warning.take(), warning.take(), warning.take()], [Some(1), None, None]);
    warning.0.lock().1 = None;
    assert_eq!(warning.take(), Some(3));
}
