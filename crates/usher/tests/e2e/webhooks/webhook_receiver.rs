//! The app's webhook receiver, over real sockets: treats connections as a test says, and records all posts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use usher_test_tools::{Request, TcpServer, read_request};

use crate::harness::LONG;

/// What the app does with a post.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Takes it.
    Ok,
    /// Takes it, after a while.
    Slow(Duration),
    /// Says this status, with these headers (`name: value\r\n`).
    Status(u16, &'static str),
    /// Closes the connection instead of an answer.
    Close,
    /// Takes it, and closes the connection in the middle of the answer's body.
    CloseMidBody,
    /// Takes it, in an answer that does not end.
    Endless,
    /// Says nothing, ever.
    Hang,
}

impl Reply {
    /// Whether the response accepts the event.
    fn accepts(&self) -> bool {
        matches!(self, Self::Ok | Self::Slow(_) | Self::CloseMidBody | Self::Endless)
    }
}

/// A post as it came.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Instant,
    pub(crate) accepted: bool,
}

impl Post {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(crate) fn stream(&self) -> String {
        self.json()["stream_id"].as_str().expect("a stream").to_owned()
    }

    pub(crate) fn index(&self) -> u64 {
        self.json()["index"].as_u64().expect("an index")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Decides on a post, given how often this event was posted before.
type Rule = dyn Fn(&Post, usize) -> Reply + Send + Sync;

struct Shared {
    posts: Mutex<Vec<Post>>,
    /// Notified of every change of the posts.
    posted: Notify,
    rule: Box<Rule>,
}

/// The app; dropping it closes everything.
pub(crate) struct App {
    server: TcpServer,
    shared: Arc<Shared>,
}

impl App {
    /// Listens on a free port.
    pub(crate) async fn start(rule: impl Fn(&Post, usize) -> Reply + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared { posts: Mutex::default(), posted: Notify::new(), rule: Box::new(rule) });
        let serving = Arc::clone(&shared);
        let server = TcpServer::start(move |socket| {
            let shared = Arc::clone(&serving);
            async move {
                let _ = socket.set_nodelay(true);
                // An error is the service's end: it was killed, or had enough.
                let _ = shared.converse(socket).await;
            }
        });
        Self { server: server.await, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.server.address())
    }

    pub(crate) fn posts(&self) -> Vec<Post> {
        self.shared.posts.lock().clone()
    }

    /// All posts of this stream.
    pub(crate) fn posts_of(&self, stream: &str) -> Vec<Post> {
        self.posts().into_iter().filter(|post| post.stream() == stream).collect()
    }

    /// The bodies of this stream that were taken, each once, as one that goes by `X-Service-Event-Id` has them.
    pub(crate) fn accepted(&self, stream: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        let mut bodies = Vec::new();
        for post in self.posts_of(stream).into_iter().filter(|post| post.accepted) {
            let id = post.header("x-service-event-id").to_owned();
            if !seen.contains(&id) {
                seen.push(id);
                bodies.push(post.json());
            }
        }
        bodies
    }

    /// Waits until this many events of the stream were taken.
    pub(crate) async fn takes(&self, stream: &str, count: usize) {
        self.until(&format!("{count} events of {stream}"), |app| app.accepted(stream).len() >= count).await;
    }

    /// Waits until this is so.
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let posted = self.shared.posted.notified();
                if so(self) {
                    return;
                }
                posted.await;
            }
        };
        timeout(2 * LONG, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
    }

    /// Whatever was repeated, and however the service ended in between: within a stream each post is of the event before
    /// or the next one, and a repetition says the same.
    pub(crate) fn assert_order(&self) {
        let mut last: HashMap<String, Post> = HashMap::new();
        for post in self.posts() {
            let (stream, index) = (post.stream(), post.index());
            assert_eq!(post.header("x-service-event-id"), format!("{stream}:{index}"));
            assert_eq!(post.header("webhook-id"), format!("{stream}:{index}"));
            match last.get(&stream) {
                None => assert_eq!(index, 0, "{stream} begins in the middle"),
                Some(before) if before.index() == index => assert_eq!(before.body, post.body, "{stream} has changed"),
                Some(before) => {
                    assert!(before.accepted, "{stream}:{} was passed over", before.index());
                    assert_eq!(index, before.index() + 1, "{stream} is out of order");
                }
            }
            last.insert(stream, post);
        }
    }
}

impl Shared {
    async fn converse(&self, mut socket: TcpStream) -> std::io::Result<()> {
        while let Some(request) = read_request(&mut socket).await {
            assert!(request.line.starts_with("POST "), "{}", request.line);
            let path = request.path().to_owned();
            let Request { headers, body, .. } = request;
            let post = Post { path, headers, body, at: Instant::now(), accepted: false };
            let reply = {
                let mut posts = self.posts.lock();
                let before = posts.iter().filter(|one| one.body == post.body).count();
                let reply = (self.rule)(&post, before);
                posts.push(Post { accepted: reply.accepts() && !matches!(reply, Reply::Slow(_)), ..post.clone() });
                reply
            };
            self.posted.notify_waiters();
            match reply {
                Reply::Ok => answer(&mut socket, 200, "").await?,
                Reply::Slow(pause) => {
                    tokio::time::sleep(pause).await;
                    answer(&mut socket, 204, "").await?;
                    let mut posts = self.posts.lock();
                    let this = posts.iter_mut().rev().find(|one| one.body == post.body && one.at == post.at);
                    this.expect("it was kept").accepted = true;
                    self.posted.notify_waiters();
                }
                Reply::Status(status, headers) => answer(&mut socket, status, headers).await?,
                Reply::Close => return Ok(()),
                Reply::CloseMidBody => {
                    return socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf").await;
                }
                Reply::Endless => {
                    socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                    let piece = [b'x'; 64 * 1024];
                    loop {
                        socket.write_all(&piece).await?;
                    }
                }
                Reply::Hang => std::future::pending().await,
            }
        }
        Ok(())
    }
}

async fn answer(socket: &mut TcpStream, status: u16, headers: &str) -> std::io::Result<()> {
    let length = if status == 204 { "" } else { "Content-Length: 0\r\n" };
    socket.write_all(format!("HTTP/1.1 {status} Whatever\r\n{length}{headers}\r\n").as_bytes()).await
}
