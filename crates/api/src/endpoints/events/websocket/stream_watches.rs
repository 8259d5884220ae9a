//! The streams that a client watches.
//!
//! A watch is a cursor in the durable log that polls read as well. It reads a page of events from its index on, sends
//! them, and reads the next page; when there are no events, it waits. So each event arrives once and in order, and a
//! client that reads slowly delays only itself and occupies only one page of memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use usher_engine::{Engine, EventPage, EventsError, Origin, ShownStream, StreamId};
use usher_places::Place;

use crate::client_places::ClientPlaces;
use crate::problem::Problem;

/// Most events that are read at a time.
const BATCH: usize = 100;

/// Most commands that wait for the first turn of one watch.
const MAX_UNANSWERED: usize = 16;

/// How long one wait lasts; then another begins. It only keeps a deadline far away.
const WAIT: Duration = Duration::from_secs(3_600);

/// The subscriptions of one connection.
pub(super) struct StreamWatches {
    engine: Arc<Engine>,
    /// Places for subscriptions, of all connections together.
    permits: Arc<ClientPlaces>,
    /// Most subscriptions of this connection.
    most: usize,
    open: HashMap<StreamId, StreamWatch>,
    /// What is being read: one of each subscription whose events were all sent, and aborted ones until they are seen.
    reads: FuturesUnordered<Abortable<BoxFuture<'static, Read>>>,
}

struct StreamWatch {
    shown: ShownStream,
    read: AbortHandle,
    /// The commands that get their response with its first turn: the one that began it, and those that it replaced before
    /// they had theirs.
    unanswered: Vec<String>,
    _permit: Place,
}

/// What was read for one watch.
type Read = (StreamId, Result<EventPage, EventsError>);

/// It is a subscription's turn.
pub(super) struct WatchUpdate {
    pub(super) stream: StreamId,
    /// The commands to respond to, if the watch has just begun.
    pub(super) commands: Vec<String>,
    pub(super) page: Result<EventPage, EventsError>,
}

impl StreamWatches {
    /// None so far.
    pub(super) fn new(engine: Arc<Engine>, permits: Arc<ClientPlaces>, most: usize) -> Self {
        Self { engine, permits, most, open: HashMap::new(), reads: FuturesUnordered::new() }
    }

    /// Begins a watch at `after`; it replaces one of the same stream. The response to `command` follows with its first
    /// turn.
    ///
    /// # Errors
    /// `overloaded` when a limit is reached.
    pub(super) fn begin(
        &mut self,
        client: Option<Origin>,
        shown: ShownStream,
        after: u64,
        command: String,
    ) -> Result<(), Problem> {
        let stream = shown.id();
        let (mut unanswered, permit) = match self.open.remove(&stream) {
            Some(before) if before.unanswered.len() >= MAX_UNANSWERED => {
                self.open.insert(stream, before);
                return Err(Problem::overloaded("too many subscriptions to this stream wait for their response"));
            }
            Some(before) => {
                before.read.abort();
                (before.unanswered, before._permit)
            }
            None if self.open.len() >= self.most => {
                return Err(Problem::overloaded("this connection has too many subscriptions"));
            }
            None => (Vec::new(), self.permits.take(client)?),
        };
        unanswered.push(command);
        let engine = Arc::clone(&self.engine);
        let read = self.read(async move { (stream, engine.events().read(shown, after, BATCH).await) });
        self.open.insert(stream, StreamWatch { shown, read, unanswered, _permit: permit });
        Ok(())
    }

    /// Goes on at `next` with one whose turn it was.
    pub(super) fn go_on(&mut self, stream: StreamId, next: u64) {
        let Some(shown) = self.open.get(&stream).map(|watch| watch.shown) else { return };
        let engine = Arc::clone(&self.engine);
        let read = self.read(async move { (stream, engine.events().wait(shown, next, BATCH, WAIT).await) });
        if let Some(watch) = self.open.get_mut(&stream) {
            watch.read = read;
        }
    }

    fn read(&mut self, read: impl Future<Output = Read> + Send + 'static) -> AbortHandle {
        let (read, handle) = abortable(read.boxed());
        self.reads.push(read);
        handle
    }

    /// Ends one, if there is one. It gets no more turns. Returns the commands that have no response yet.
    pub(super) fn end(&mut self, stream: StreamId) -> Vec<String> {
        let Some(watch) = self.open.remove(&stream) else { return Vec::new() };
        watch.read.abort();
        watch.unanswered
    }

    /// Whose turn it is. Dropped before it is ready, it has lost nothing; it never is while there are none.
    pub(super) async fn next_update(&mut self) -> WatchUpdate {
        loop {
            match self.reads.next().await {
                Some(Ok((stream, page))) => {
                    let watch = self.open.get_mut(&stream);
                    let commands = watch.map(|watch| std::mem::take(&mut watch.unanswered)).unwrap_or_default();
                    return WatchUpdate { stream, commands, page };
                }
                Some(Err(_aborted)) => {}
                None => std::future::pending().await,
            }
        }
    }
}
