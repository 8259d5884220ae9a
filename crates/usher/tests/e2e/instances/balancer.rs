//! A load balancer that knows nothing about roles: each connection goes to the next instance that accepts it.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Listens on a free port of loopback, until it is dropped.
pub(crate) struct Balancer {
    address: SocketAddr,
    instances: tokio::sync::watch::Sender<Vec<SocketAddr>>,
    _tasks: JoinSet<()>,
}

impl Balancer {
    /// One without instances yet.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (instances, known) = tokio::sync::watch::channel(Vec::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            for turn in 0.. {
                let Ok((client, _)) = listener.accept().await else { return };
                let mut instances: Vec<_> = known.borrow().clone();
                let count = instances.len().max(1);
                instances.rotate_left(turn % count);
                connections.spawn(carry(client, instances));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, instances, _tasks: tasks }
    }

    /// Its URL, without a trailing slash.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends new connections to these from now on.
    pub(crate) fn set(&self, instances: &[&str]) {
        let addresses = instances.iter().map(|base| base.trim_start_matches("http://").parse().unwrap());
        self.instances.send_replace(addresses.collect());
    }
}

async fn carry(mut client: TcpStream, instances: Vec<SocketAddr>) {
    for instance in instances {
        if let Ok(mut upstream) = TcpStream::connect(instance).await {
            let _ = copy_bidirectional(&mut client, &mut upstream).await;
            return;
        }
    }
}
