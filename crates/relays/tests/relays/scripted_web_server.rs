//! A web server that sends what the test scripts, with and without TLS.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use usher_testing::{TcpServer, self_signed, trusting};

/// The response, piece by piece, with a pause after each.
pub(crate) type Said = Vec<(Vec<u8>, Duration)>;

type Script = Arc<dyn Fn(&str) -> Said + Send + Sync>;

pub(crate) struct Web {
    server: TcpServer,
    /// The requested paths, in order; an empty one for each connection without a request.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    /// Also returns what a client needs to trust it, if it speaks HTTPS.
    pub(crate) async fn start(
        is_secure: bool,
        script: impl Fn(&str) -> Said + Send + Sync + 'static,
    ) -> (Self, Arc<ClientConfig>) {
        let (acceptor, certificate) = self_signed("localhost");
        let (script, asked): (Script, _) = (Arc::new(script), Arc::<Mutex<Vec<String>>>::default());
        let noting = Arc::clone(&asked);
        let server = TcpServer::start(move |stream| {
            let (tls, script, asked) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&noting));
            async move {
                if !is_secure {
                    return serve(stream, &script, &asked).await;
                }
                match tls.accept(stream).await {
                    Ok(stream) => serve(stream, &script, &asked).await,
                    Err(_) => asked.lock().push(String::new()),
                }
            }
        });
        (Self { server: server.await, asked }, trusting(certificate))
    }

    pub(crate) fn requests(&self) -> usize {
        self.asked.lock().iter().filter(|path| !path.is_empty()).count()
    }

    pub(crate) fn identifier(&self, name: &str) -> String {
        format!("{name}@localhost:{}", self.server.port())
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: &Script, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(1) if head.len() < 16 * 1024 && !head.starts_with(&[0x16]) => head.extend_from_slice(&byte),
            _ => return asked.lock().push(String::new()),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().push(path.clone());
    for (piece, pause) in script(&path) {
        if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        tokio::time::sleep(pause).await;
    }
    let _ = stream.shutdown().await;
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Said {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}");
    vec![(text.into_bytes(), Duration::ZERO)]
}

/// An ordinary response.
pub(crate) fn json(body: &serde_json::Value) -> Said {
    answer("200 OK", "Content-Type: application/json\r\n", &body.to_string())
}
