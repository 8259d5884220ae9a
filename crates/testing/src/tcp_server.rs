//! A server that does with each connection what a test says, and certificates for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long to wait when there is no file for another connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A server for as long as it lives: then its connections end, too.
#[derive(Debug)]
pub struct TcpServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl TcpServer {
    /// Serves each connection to a free port of 127.0.0.1 in a task of its own.
    pub async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_at(("127.0.0.1", 0), serve).await
    }

    pub async fn start_at<F>(address: (&str, u16), serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicUsize>::default();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (accepted, serving, until) = (Arc::clone(&connections), tasks.clone(), stop.clone());
        let accept = async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                };
                accepted.fetch_add(1, Ordering::SeqCst);
                serving.spawn(until.clone().run_until_cancelled_owned(serve(stream)));
            }
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(accept));
        Self { address, connections, tasks, stop }
    }

    /// Closes the port and every connection, and waits until that is done.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What a server needs that has this name and its own certificate: what accepts connections, and the certificate.
pub fn self_signed(name: &str) -> (TlsAcceptor, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}

/// The configuration of a client that trusts this certificate only.
pub fn trusting(certificate: CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}
