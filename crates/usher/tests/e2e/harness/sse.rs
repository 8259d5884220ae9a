//! Server-sent events, read as a browser does.

use tokio::time::timeout;

use super::{Event, LONG};

/// An open stream of server-sent events.
pub(crate) struct Sse {
    answer: reqwest::Response,
    buffer: String,
}

impl Sse {
    pub(crate) fn new(answer: reqwest::Response) -> Self {
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { answer, buffer: String::new() }
    }

    /// The next event; `None` when the service ended the answer.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let event = parse(block);
                self.buffer = rest.to_owned();
                if event.is_some() {
                    return event;
                }
                continue;
            }
            let chunk = timeout(LONG, self.answer.chunk()).await.expect("a chunk in time").ok()??;
            self.buffer.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }
}

/// The event of a block; `None` for comments.
fn parse(block: &str) -> Option<Event> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let event: Event = serde_json::from_str(field("data")?).expect("an event");
    assert_eq!(field("id").expect("an id"), event.index.to_string());
    assert_eq!(field("event").expect("a type"), event.kind);
    Some(event)
}
