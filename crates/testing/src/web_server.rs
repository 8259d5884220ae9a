//! A web server whose responses a test scripts, with and without TLS.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use crate::{Request, TcpServer, read_request, self_signed, trusting};

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;

/// What the server does with a request. Then it closes the connection.
#[derive(Clone, Debug)]
pub enum WebResponse {
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends the first text, and the second again and again, with this pause.
    Endless(String, String, Duration),
    /// Sends nothing.
    Hang,
}

impl WebResponse {
    /// `headers` are lines, each with its end.
    pub fn new(status: u16, headers: &str, body: impl Display) -> Self {
        let body = body.to_string();
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}");
        Self::Bytes(format!("{head}\r\n{body}").into_bytes())
    }

    pub fn json(body: impl Display) -> Self {
        Self::new(200, "content-type: application/json\r\n", body)
    }

    pub fn redirect(to: &str) -> Self {
        Self::new(302, &format!("location: {to}\r\n"), "")
    }
}

type Script = Arc<dyn Fn(&Request) -> WebResponse + Send + Sync>;

#[derive(Clone)]
struct World {
    script: Arc<Mutex<Script>>,
    requests: Arc<Mutex<Vec<Request>>>,
    tls: Option<TlsAcceptor>,
}

pub struct WebServer {
    server: TcpServer,
    world: World,
}

impl WebServer {
    pub async fn start(script: impl Fn(&Request) -> WebResponse + Send + Sync + 'static) -> Self {
        Self::start_with(None, script).await
    }

    /// For HTTPS to `localhost`; also returns what a client needs to trust it.
    pub async fn start_tls(
        script: impl Fn(&Request) -> WebResponse + Send + Sync + 'static,
    ) -> (Self, Arc<ClientConfig>) {
        let (acceptor, certificate) = self_signed("localhost");
        (Self::start_with(Some(acceptor), script).await, trusting(certificate))
    }

    /// One that says this to each request.
    pub async fn saying(response: WebResponse) -> Self {
        Self::start(move |_| response.clone()).await
    }

    async fn start_with(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Request) -> WebResponse + Send + Sync + 'static,
    ) -> Self {
        let world = World { script: Arc::new(Mutex::new(Arc::new(script))), requests: Arc::default(), tls };
        let serving = world.clone();
        let server = TcpServer::start(move |stream| {
            let world = serving.clone();
            async move {
                let mut first = [0];
                match &world.tls {
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            world.serve(stream).await;
                        }
                    }
                    None if stream.peek(&mut first).await.is_ok() && first != [TLS_HANDSHAKE] => {
                        world.serve(stream).await;
                    }
                    None => {}
                }
            }
        });
        Self { server: server.await, world }
    }

    /// From now on it says this.
    pub fn says(&self, response: WebResponse) {
        *self.world.script.lock() = Arc::new(move |_| response.clone());
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    pub const fn port(&self) -> u16 {
        self.server.port()
    }

    /// Host and port.
    pub fn name(&self) -> String {
        self.server.address().to_string()
    }

    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.world.requests.lock().clone()
    }

    pub fn paths(&self) -> Vec<String> {
        self.world.requests.lock().iter().map(|request| request.path().to_owned()).collect()
    }
}

impl World {
    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Some(request) = read_request(&mut stream).await else { return };
        let script = Arc::clone(&*self.script.lock());
        let response = script(&request);
        self.requests.lock().push(request);
        let (whole, again) = match response {
            WebResponse::Bytes(bytes) => (bytes, None),
            WebResponse::Endless(begin, again, pause) => (begin.into_bytes(), Some((again, pause))),
            WebResponse::Hang => return std::future::pending().await,
        };
        // An error is a connection that the client has closed.
        let mut sent = stream.write_all(&whole).await;
        while let (Ok(()), Some((again, pause))) = (&sent, &again) {
            tokio::time::sleep(*pause).await;
            sent = stream.write_all(again.as_bytes()).await;
        }
        let _ = stream.shutdown().await;
    }
}
