//! A conversation, from the first message to the goodbye. One task has all of it: a connection that is idle is a buffer
//! and a timer.
//!
//! What is done now and then is boxed: else its room would be kept in every task for as long as the connection is open.

use std::net::IpAddr;

use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use usher_engine::{EventsError, StreamId};

use super::calls::Calls;
use super::command::{self, Command, NoCommand, What};
use super::end::End;
use super::handshake::HandshakeError;
use super::say;
use super::socket::{Received, Socket};
use super::subscriptions::{Subscriptions, Turn};
use crate::ApiState;
use crate::access::Admission;
use crate::gate;
use crate::problem::{ErrorCode, Problem};
use crate::request_id::RequestId;
use crate::server::Lease;

/// A conversation with a client.
pub(super) struct Conversation {
    state: ApiState,
    lease: Lease,
    peer: Option<IpAddr>,
    socket: Socket,
    subscriptions: Subscriptions,
    calls: Calls,
    /// Pings are sent when this is over.
    ping_at: Instant,
    /// A ping is out, and nothing came since.
    waits_for_pong: bool,
    /// Cancelled when the client's token is accepted no more.
    revoked: CancellationToken,
    /// A place among `limits.max_websockets`, which clients with a valid token have.
    place: Option<OwnedSemaphorePermit>,
}

/// What happens next.
enum Next {
    Stop,
    Revoked,
    Turn(Turn),
    Answer(String),
    Received(Result<Received, End>),
    PingIsDue,
}

impl Conversation {
    /// A conversation over `socket`.
    pub(super) fn new(state: ApiState, lease: Lease, socket: Socket, peer: Option<IpAddr>) -> Self {
        let (engine, places) = (state.engine.clone(), state.subscriptions.clone());
        let subscriptions = Subscriptions::new(engine, places, state.limits.subscriptions_per_socket);
        let calls = Calls::new(state.clone(), lease.router());
        let ping_at = Instant::now() + state.limits.ping_interval;
        Self {
            state,
            lease,
            peer,
            socket,
            subscriptions,
            calls,
            ping_at,
            waits_for_pong: false,
            revoked: CancellationToken::new(),
            place: None,
        }
    }

    /// Talks until somebody says goodbye, and closes the connection. With an admission comes a place.
    pub(super) async fn run(mut self: Box<Self>, admission: Option<Admission>, place: Option<OwnedSemaphorePermit>) {
        self.place = place;
        let stop = self.state.stop.child_token();
        let admitted = match admission {
            Some(admission) => {
                self.revoked = admission.revoked();
                Ok(())
            }
            None => tokio::select! {
                () = stop.cancelled() => Err(End::Stopping),
                admitted = self.admit().boxed() => admitted,
            },
        };
        let end = match admitted {
            Ok(()) => match self.talk(stop.cancelled()).await {
                Ok(never) => match never {},
                Err(end) => end,
            },
            Err(end) => end,
        };
        tracing::debug!(code = end.code(), "a WebSocket ends: {end:?}");
        self.socket.close(end).boxed().await;
    }

    /// Waits for an unauthenticated client to send the token.
    async fn admit(&mut self) -> Result<(), End> {
        let said = async {
            loop {
                if let Received::Text(text) = self.socket.receive().await? {
                    return Ok(text);
                }
            }
        };
        let text = timeout(self.state.limits.socket_auth_timeout, said).await.map_err(|_| End::Unauthenticated)??;
        let (id, problem) = match command::read(&text) {
            Ok(Command { id, what: What::Auth(token) }) => match self.check(&token) {
                Ok(admission) => {
                    let Some(place) = self.state.websocket_place() else {
                        self.refuse(Some(&id), HandshakeError::Full.into()).await?;
                        return Err(End::Full);
                    };
                    self.place = Some(place);
                    self.revoked = admission.revoked();
                    self.lease.authenticate();
                    self.socket.trust();
                    return self.socket.send(vec![say::success(&id, "{}")]).await;
                }
                Err(problem) => {
                    self.hold_back().await;
                    (Some(id), problem)
                }
            },
            Ok(Command { id, .. }) => (
                Some(id),
                Problem::new(ErrorCode::Unauthorized, "say `auth` first, or send the `Authorization` header"),
            ),
            Err(NoCommand { id, .. }) => {
                (id, Problem::new(ErrorCode::Unauthorized, "the first message must be an `auth` command"))
            }
        };
        self.refuse(id.as_deref(), problem).await?;
        Err(End::Unauthenticated)
    }

    async fn talk(&mut self, stop: impl Future<Output = ()>) -> Result<std::convert::Infallible, End> {
        let mut stop = std::pin::pin!(stop);
        let mut ping = std::pin::pin!(sleep_until(self.ping_at));
        loop {
            let revoked = self.revoked.clone();
            let next = tokio::select! {
                () = &mut stop => Next::Stop,
                () = revoked.cancelled() => Next::Revoked,
                turn = self.subscriptions.turn() => Next::Turn(turn),
                answer = self.calls.answer() => Next::Answer(answer),
                received = self.socket.receive() => Next::Received(received),
                () = &mut ping => Next::PingIsDue,
            };
            match next {
                Next::Stop => return Err(self.finish().boxed().await),
                Next::Revoked => return Err(End::Unauthenticated),
                Next::Turn(turn) => self.take_turn(turn).boxed().await?,
                Next::Answer(answer) => self.socket.send(vec![answer]).boxed().await?,
                Next::Received(received) => self.take(received?).boxed().await?,
                Next::PingIsDue => {
                    self.ask_for_life().boxed().await?;
                    ping.as_mut().reset(self.ping_at);
                }
            }
        }
    }

    /// The service stops: calls that run are answered, and no more are begun.
    async fn finish(&mut self) -> End {
        while !self.calls.is_empty() {
            let answer = self.calls.answer().await;
            if let Err(end) = self.socket.send(vec![answer]).await {
                return end;
            }
        }
        End::Stopping
    }

    async fn ask_for_life(&mut self) -> Result<(), End> {
        if self.waits_for_pong {
            // It may lie there unread: whoever was busy sending has not looked.
            return match self.socket.receive().now_or_never() {
                Some(received) => self.take(received?).await,
                None => Err(End::Silent),
            };
        }
        self.socket.ping().await?;
        self.waits_for_pong = true;
        self.ping_at = Instant::now() + self.state.limits.ping_interval;
        Ok(())
    }

    async fn take(&mut self, received: Received) -> Result<(), End> {
        self.waits_for_pong = false;
        match received {
            Received::Text(text) => self.obey(&text).await,
            Received::Control => Ok(()),
        }
    }

    async fn obey(&mut self, text: &str) -> Result<(), End> {
        let (id, done) = match command::read(text) {
            Ok(Command { id, what: What::Auth(token) }) => {
                match self.check(&token) {
                    Ok(admission) => self.revoked = admission.revoked(),
                    Err(problem) => {
                        self.hold_back().await;
                        self.refuse(Some(&id), problem).await?;
                        return Err(End::Unauthenticated);
                    }
                }
                (id, Ok(true))
            }
            Ok(Command { id, what: What::Ping }) => (id, Ok(true)),
            Ok(Command { id, what: What::Unsubscribe(stream) }) => {
                stream.into_iter().for_each(|stream| self.subscriptions.end(stream));
                (id, Ok(true))
            }
            Ok(Command { id, what: What::Subscribe(stream, after) }) => {
                let begun = self.subscribe(stream, after, &id);
                (id, begun.map(|()| false))
            }
            Ok(Command { id, what: What::Request(call) }) => {
                let begun = self.calls.begin(id.clone(), call);
                (id, begun.map(|()| false))
            }
            Err(NoCommand { id, problem }) => return self.refuse(id.as_deref(), problem).await,
        };
        match done {
            Ok(true) => self.socket.send(vec![say::success(&id, "{}")]).await,
            // It is answered when it has begun, or is over.
            Ok(false) => Ok(()),
            Err(problem) => self.refuse(Some(&id), problem).await,
        }
    }

    fn subscribe(&mut self, stream: Option<StreamId>, after: u64, id: &str) -> Result<(), Problem> {
        gate::take_one(&self.state)?;
        let stream = stream.ok_or(EventsError::NotFound)?;
        self.subscriptions.begin(stream, after, id.to_owned())
    }

    /// Sends what a subscription has read, and lets it read on.
    async fn take_turn(&mut self, turn: Turn) -> Result<(), End> {
        let Turn { stream, command, page } = turn;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                self.subscriptions.end(stream);
                return match command {
                    Some(id) => self.refuse(Some(&id), error.into()).await,
                    None => {
                        let failed = say::subscription_failed(stream, self.finished(error.into())).await;
                        self.socket.send(vec![failed]).await
                    }
                };
            }
        };
        // What was removed is missing in the first page alone.
        let first = page.first.map_or_else(String::new, |first| format!(",\"first\":{first}"));
        let begun = command.map(|id| say::success(&id, &format!("{{\"stream_id\":\"{stream}\"{first}}}")));
        let events = page.events.iter().map(|event| say::event(stream, event));
        let done = page.done.then(|| say::done(stream, page.next));
        let messages: Vec<_> = begun.into_iter().chain(events).chain(done).collect();
        if page.done {
            self.subscriptions.end(stream);
        } else {
            self.subscriptions.go_on(stream, page.next);
        }
        if messages.is_empty() { Ok(()) } else { self.socket.send(messages).await }
    }

    /// Whether this is a token that is accepted.
    fn check(&self, token: &SecretString) -> Result<Admission, Problem> {
        self.state.tokens.admit_token(token.expose_secret().as_bytes())
    }

    /// A wrong token was sent: answered later the more of them come from there.
    async fn hold_back(&mut self) {
        if gate::may_log(&self.state, self.peer) {
            let peer = self.peer.map(tracing::field::display);
            tracing::info!(peer, "a WebSocket client sent a wrong token");
        }
        gate::hold_back(&self.state, self.peer).await;
    }

    async fn refuse(&mut self, id: Option<&str>, problem: Problem) -> Result<(), End> {
        let refusal = say::response(id, self.finished(problem)).await;
        self.socket.send(vec![refusal]).await
    }

    /// A problem as the gate sends it out, under a request id of its own.
    fn finished(&self, problem: Problem) -> Response {
        let request_id = RequestId::of(&HeaderMap::new(), self.state.randomness.as_ref());
        tracing::debug!(%request_id, code = problem.code().as_str(), "a command was refused");
        let mut response = problem.into_response();
        gate::finish(&mut response, &request_id);
        response
    }
}
