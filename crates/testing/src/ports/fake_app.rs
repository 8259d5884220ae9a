//! An app behind the webhook: it records what is posted to it, and does with each post what a test says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::in_time;
use usher_engine::event::Event;
use usher_engine::ports::{Posted, WebhookSender};
use usher_engine::{StreamId, UnixMillis};

/// An app that accepts every event until a test says otherwise.
pub struct FakeApp {
    posts: watch::Sender<Vec<Post>>,
    rule: Mutex<Box<Rule>>,
}

type Rule = dyn Fn(&Post) -> Reply + Send + Sync;

#[derive(Clone, Debug)]
pub struct Post {
    pub stream: StreamId,
    pub index: u64,
    pub data: String,
    pub at: UnixMillis,
    /// How often the event was posted before.
    pub tries: usize,
    pub reply: Reply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Responds with 204.
    Accept,
    /// Responds with 500.
    Refuse,
    /// Responds with 500 and asks to be spared for so long.
    RetryAfter(Duration),
    /// Never responds.
    Hang,
    /// As if the sender had a bug.
    Panic,
}

impl Default for FakeApp {
    fn default() -> Self {
        Self { posts: watch::Sender::default(), rule: Mutex::new(Box::new(|_| Reply::Accept)) }
    }
}

impl FakeApp {
    pub fn new(rule: impl Fn(&Post) -> Reply + Send + Sync + 'static) -> Arc<Self> {
        let app = Arc::new(Self::default());
        app.set(rule);
        app
    }

    pub fn set(&self, rule: impl Fn(&Post) -> Reply + Send + Sync + 'static) {
        *self.rule.lock() = Box::new(rule);
    }

    pub fn posts(&self) -> Vec<Post> {
        self.posts.borrow().clone()
    }

    /// The events that it accepted, in their order.
    pub fn accepted(&self) -> Vec<(StreamId, u64)> {
        accepted(&self.posts.borrow()).collect()
    }

    /// The events that it accepted, once there are so many.
    pub async fn accepts(&self, count: usize) -> Vec<(StreamId, u64)> {
        self.until("accepted posts", |posts| accepted(posts).count() >= count).await;
        self.accepted()
    }

    pub async fn until(&self, what: &str, holds: impl Fn(&[Post]) -> bool) {
        let mut posts = self.posts.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = in_time(what, posts.wait_for(|posts| holds(posts))).await;
    }
}

fn accepted(posts: &[Post]) -> impl Iterator<Item = (StreamId, u64)> {
    posts.iter().filter(|post| post.reply == Reply::Accept).map(|post| (post.stream, post.index))
}

#[async_trait]
impl WebhookSender for FakeApp {
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted {
        let tries =
            self.posts.borrow().iter().filter(|post| (post.stream, post.index) == (stream, event.index)).count();
        let data = event.data.to_string();
        let mut post = Post { stream, index: event.index, data, at: now, tries, reply: Reply::Accept };
        post.reply = (self.rule.lock())(&post);
        let reply = post.reply;
        self.posts.send_modify(|posts| posts.push(post));
        let refused = |retry_after| {
            let reason = "the receiver answered 500".to_owned();
            Posted::Refused { http_status: Some(500), reason, retry_after }
        };
        match reply {
            Reply::Accept => Posted::Accepted { http_status: 204 },
            Reply::Refuse => refused(None),
            Reply::RetryAfter(pause) => refused(Some(pause)),
            Reply::Hang => std::future::pending().await,
            Reply::Panic => panic!("as if there were a bug"),
        }
    }
}
