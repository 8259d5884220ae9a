//! The app's webhook receiver, over real sockets: responds to posts as scripted, and records them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;
use usher_testing::{Request, TcpServer, read_request};

use super::LONG;

/// What the app does with a post.
pub(crate) enum Reply {
    /// Takes it.
    Ok,
    /// Takes it, after a while.
    Slow(Duration),
    Status(u16),
    /// Closes the connection instead of an answer.
    Close,
    /// Says nothing, ever.
    Hang,
}

#[derive(Clone)]
pub(crate) struct Post {
    /// Names in lower case.
    headers: HashMap<String, String>,
    body: Value,
    accepted: bool,
}

impl Post {
    pub(crate) fn stream(&self) -> &str {
        self.body["stream_id"].as_str().expect("a stream")
    }

    pub(crate) fn index(&self) -> u64 {
        self.body["index"].as_u64().expect("an index")
    }

    /// Whether the body has this text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.body.to_string().contains(text)
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Decides on a post, given how often this event was posted before.
type Rule = dyn Fn(&Post, usize) -> Reply + Send + Sync;

struct Shared {
    posts: Mutex<Vec<Post>>,
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
            // An error is the service's end: it was killed, or had enough.
            async move { drop(shared.converse(socket).await) }
        });
        Self { server: server.await, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.server.address())
    }

    pub(crate) fn posts(&self) -> Vec<Post> {
        self.shared.posts.lock().clone()
    }

    /// The bodies of this stream that were taken, each once, as one that goes by `X-Service-Event-Id` has them.
    pub(crate) fn accepted(&self, stream: &str) -> Vec<Value> {
        let (mut seen, mut bodies) = (Vec::new(), Vec::new());
        for post in self.posts().into_iter().filter(|post| post.accepted && post.stream() == stream) {
            let id = post.header("x-service-event-id").to_owned();
            if !seen.contains(&id) {
                seen.push(id);
                bodies.push(post.body);
            }
        }
        bodies
    }

    /// Waits until this many events of the stream were taken.
    pub(crate) async fn takes(&self, stream: &str, count: usize) {
        self.until(&format!("{count} events of {stream}"), |app| app.accepted(stream).len() >= count).await;
    }

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
            let (stream, index) = (post.stream().to_owned(), post.index());
            for id in ["x-service-event-id", "webhook-id"] {
                assert_eq!(post.header(id), format!("{stream}:{index}"));
            }
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
            let Request { headers, body, .. } = request;
            let mut post = Post { headers, body: serde_json::from_slice(&body).expect("JSON"), accepted: false };
            let (reply, number) = {
                let mut posts = self.posts.lock();
                let reply = (self.rule)(&post, posts.iter().filter(|one| one.body == post.body).count());
                post.accepted = matches!(reply, Reply::Ok);
                posts.push(post);
                (reply, posts.len() - 1)
            };
            self.posted.notify_waiters();
            match reply {
                Reply::Ok => answer(&mut socket, 200).await?,
                Reply::Slow(pause) => {
                    tokio::time::sleep(pause).await;
                    answer(&mut socket, 200).await?;
                    self.posts.lock()[number].accepted = true;
                    self.posted.notify_waiters();
                }
                Reply::Status(status) => answer(&mut socket, status).await?,
                Reply::Close => return Ok(()),
                Reply::Hang => std::future::pending().await,
            }
        }
        Ok(())
    }
}

async fn answer(socket: &mut TcpStream, status: u16) -> std::io::Result<()> {
    socket.write_all(format!("HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\n\r\n").as_bytes()).await
}
