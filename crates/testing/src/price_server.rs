//! A server of prices that says what a test wants it to.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::TcpServer;

/// What the server says to a request.
#[derive(Clone)]
pub enum PriceResponse {
    /// These bytes.
    Whole(String),
    /// A body that ends too early.
    BreakOff,
    /// A body that never ends, byte by byte.
    Endless,
    Close,
}

impl PriceResponse {
    pub fn json(body: &str) -> Self {
        let length = body.len();
        Self::Whole(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }

    pub fn status(status: u16) -> Self {
        Self::Whole(format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n"))
    }

    pub fn redirect(to: &str) -> Self {
        Self::Whole(format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"))
    }
}

/// The server, for as long as it lives.
pub struct PriceServer {
    server: TcpServer,
    response: Arc<Mutex<PriceResponse>>,
    paths: Arc<Mutex<Vec<String>>>,
}

impl PriceServer {
    /// Says this to each request.
    pub async fn start(response: PriceResponse) -> Self {
        let response = Arc::new(Mutex::new(response));
        let paths = Arc::<Mutex<Vec<String>>>::default();
        let (says, asked) = (Arc::clone(&response), Arc::clone(&paths));
        let server = TcpServer::start(move |stream| {
            let (says, asked) = (Arc::clone(&says), Arc::clone(&asked));
            async move {
                let _ = serve(stream, &says, &asked).await;
            }
        })
        .await;
        Self { server, response, paths }
    }

    pub fn says(&self, response: PriceResponse) {
        *self.response.lock().unwrap() = response;
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    /// Host and port.
    pub fn name(&self) -> String {
        self.server.address().to_string()
    }

    pub fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, says: &Mutex<PriceResponse>, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let path = String::from_utf8(head).unwrap().split(' ').nth(1).unwrap().to_owned();
    asked.lock().unwrap().push(path);
    let response = says.lock().unwrap().clone();
    match response {
        PriceResponse::Whole(text) => stream.write_all(text.as_bytes()).await,
        PriceResponse::BreakOff => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"price\":64001}").await
        }
        PriceResponse::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"price\":64001").await?;
            loop {
                stream.write_all(b" ").await?;
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
        PriceResponse::Close => Ok(()),
    }
}
