//! A session, from the first message to the close. One task runs all of it: an idle connection is a buffer and a timer.
//!
//! Futures that run rarely are boxed, because otherwise every task would reserve memory for them as long as its
//! connection is open.

use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use usher_engine::access::Scope;
use usher_engine::{EventsError, StreamId};
use usher_places::Place;

use super::close_reason::CloseReason;
use super::command::InvalidCommand;
use super::command::{self, Action, Command};
use super::encode;
use super::requests::Requests;
use super::socket::{Received, Socket};
use super::stream_watches::{StreamWatches, WatchUpdate};
use crate::access::Access;
use crate::auth::{self, Authorization};
use crate::connection_lease::ConnectionLease;
use crate::key_rate_limit::KeyQuota;
use crate::peer_address::ClientAddress;
use crate::problem::{ErrorCode, Problem};
use crate::request_id::RequestId;
use crate::{ApiState, audit, middleware};

/// A session with a client.
pub(super) struct Session {
    state: ApiState,
    lease: ConnectionLease,
    client: Option<ClientAddress>,
    socket: Socket,
    watches: StreamWatches,
    requests: Requests,
    /// When the next ping is due.
    ping_at: Instant,
    /// A ping was sent, and nothing has arrived since.
    waits_for_pong: bool,
    /// What the client has sent last.
    authorization: Option<Authorization>,
    /// Cancelled when that is no longer accepted.
    revoked: CancellationToken,
    /// A permit of `limits.max_websockets`, which clients with a valid token have.
    permit: Option<Place>,
}

/// What happens next.
enum Next {
    Stop,
    Revoked,
    Update(WatchUpdate),
    Answer(String),
    Received(Result<Received, CloseReason>),
    PingIsDue,
}

impl Session {
    /// A session over `socket`.
    pub(super) fn new(state: ApiState, lease: ConnectionLease, socket: Socket, client: Option<ClientAddress>) -> Self {
        let (engine, permits) = (state.engine.clone(), state.subscriptions.clone());
        let watches = StreamWatches::new(engine, permits, state.limits.subscriptions_per_socket);
        let requests = Requests::new(state.clone(), lease.api(), client);
        let ping_at = Instant::now() + state.limits.ping_interval;
        Self {
            state,
            lease,
            client,
            socket,
            watches,
            requests,
            ping_at,
            waits_for_pong: false,
            authorization: None,
            revoked: CancellationToken::new(),
            permit: None,
        }
    }

    /// Runs until one side closes, and closes the connection. An authorization comes with a permit.
    pub(super) async fn run(mut self: Box<Self>, authorization: Option<Authorization>, permit: Option<Place>) {
        self.permit = permit;
        let stop = self.state.stop.child_token();
        let admitted = match authorization {
            Some(authorization) => {
                self.take_authorization(authorization);
                Ok(())
            }
            None => tokio::select! {
                () = stop.cancelled() => Err(CloseReason::Stopping),
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
    async fn admit(&mut self) -> Result<(), CloseReason> {
        let said = async {
            loop {
                if let Received::Text(text) = self.socket.receive().await? {
                    return Ok(text);
                }
            }
        };
        let text =
            timeout(self.state.limits.socket_auth_timeout, said).await.map_err(|_| CloseReason::Unauthenticated)??;
        let (id, problem) = match command::read(&text) {
            Ok(Command { id, action: Action::Auth(token) }) => match self.check(&token).await {
                Ok(authorization) => {
                    let client = authorization.origin();
                    match self.state.websockets.take(client) {
                        Ok(permit) => self.permit = Some(permit),
                        Err(full) => {
                            self.refuse(Some(&id), full.into()).await?;
                            return Err(CloseReason::Full);
                        }
                    }
                    self.take_authorization(authorization);
                    self.lease.authenticate(client);
                    self.socket.trust();
                    return self.socket.send(vec![encode::success(&id, "{}")]).await;
                }
                Err(problem) => {
                    if problem.code() != ErrorCode::RateLimited {
                        self.hold_back().await;
                    }
                    (Some(id), problem)
                }
            },
            Ok(Command { id, .. }) => {
                (Some(id), Problem::new(ErrorCode::Unauthorized, "send `auth` first, or the `Authorization` header"))
            }
            Err(InvalidCommand { id, .. }) => {
                (id, Problem::new(ErrorCode::Unauthorized, "the first message must be an `auth` command"))
            }
        };
        self.refuse(id.as_deref(), problem).await?;
        Err(CloseReason::Unauthenticated)
    }

    async fn talk(&mut self, stop: impl Future<Output = ()>) -> Result<std::convert::Infallible, CloseReason> {
        let mut stop = std::pin::pin!(stop);
        let mut ping = std::pin::pin!(sleep_until(self.ping_at));
        loop {
            let revoked = self.revoked.clone();
            let next = tokio::select! {
                () = &mut stop => Next::Stop,
                () = revoked.cancelled() => Next::Revoked,
                update = self.watches.next_update() => Next::Update(update),
                answer = self.requests.answer() => Next::Answer(answer),
                received = self.socket.receive() => Next::Received(received),
                () = &mut ping => Next::PingIsDue,
            };
            match next {
                Next::Stop => return Err(self.finish().boxed().await),
                Next::Revoked => return Err(CloseReason::Unauthenticated),
                Next::Update(update) => self.send_update(update).boxed().await?,
                Next::Answer(answer) => self.socket.send(vec![answer]).boxed().await?,
                Next::Received(received) => self.take(received?).boxed().await?,
                Next::PingIsDue => {
                    self.ask_for_life().boxed().await?;
                    ping.as_mut().reset(self.ping_at);
                }
            }
        }
    }

    /// The service stops: running requests get their responses, and no new ones begin.
    async fn finish(&mut self) -> CloseReason {
        while !self.requests.is_empty() {
            let answer = self.requests.answer().await;
            if let Err(end) = self.socket.send(vec![answer]).await {
                return end;
            }
        }
        CloseReason::Stopping
    }

    async fn ask_for_life(&mut self) -> Result<(), CloseReason> {
        if self.waits_for_pong {
            // It may already have arrived unread, because this task was busy sending.
            return match self.socket.receive().now_or_never() {
                Some(received) => self.take(received?).await,
                None => Err(CloseReason::Silent),
            };
        }
        self.socket.ping().await?;
        self.waits_for_pong = true;
        self.ping_at = Instant::now() + self.state.limits.ping_interval;
        Ok(())
    }

    async fn take(&mut self, received: Received) -> Result<(), CloseReason> {
        self.waits_for_pong = false;
        match received {
            Received::Text(text) => self.obey(&text).await,
            Received::Control => Ok(()),
        }
    }

    async fn obey(&mut self, text: &str) -> Result<(), CloseReason> {
        let (id, done) = match command::read(text) {
            Ok(Command { id, action: Action::Auth(token) }) => {
                match self.check(&token).await.and_then(|client| self.check_same(client)) {
                    Ok(authorization) => self.take_authorization(authorization),
                    Err(problem) if problem.code() == ErrorCode::RateLimited => {
                        return self.refuse(Some(&id), problem).await;
                    }
                    Err(problem) => {
                        self.hold_back().await;
                        self.refuse(Some(&id), problem).await?;
                        return Err(CloseReason::Unauthenticated);
                    }
                }
                (id, Ok(true))
            }
            Ok(Command { id, action: Action::Ping }) => (id, Ok(true)),
            Ok(Command { id, action: Action::Unsubscribe(stream) }) => {
                if let Some(stream) = stream {
                    let begun = self.watches.end(stream).into_iter().map(|id| subscribed(&id, stream, None)).collect();
                    self.send_all(begun).await?;
                }
                (id, Ok(true))
            }
            Ok(Command { id, action: Action::Subscribe(stream, after) }) => {
                let begun = self.subscribe(stream, after, &id).await;
                (id, begun.map(|()| false))
            }
            Ok(Command { id, action: Action::Request(call) }) => {
                let client = self.authorization.clone().ok_or_else(auth::revoked);
                let begun = client.and_then(|client| self.requests.begin(id.clone(), call, client));
                (id, begun.map(|()| false))
            }
            Err(InvalidCommand { id, problem }) => return self.refuse(id.as_deref(), problem).await,
        };
        match done {
            Ok(true) => self.socket.send(vec![encode::success(&id, "{}")]).await,
            // The response follows when the watch has begun or has ended.
            Ok(false) => Ok(()),
            Err(problem) => self.refuse(Some(&id), problem).await,
        }
    }

    async fn subscribe(&mut self, stream: Option<StreamId>, after: u64, id: &str) -> Result<(), Problem> {
        let client = self.authorization.as_ref().ok_or_else(auth::revoked)?;
        middleware::take_key_quota(&self.state, client).map_or(Ok(()), KeyQuota::check)?;
        if let Err(problem) = Access::from(Scope::EventsRead).check(client, false) {
            audit::record_refused_command(&self.state, "subscribe", client.clone(), self.client, problem.code()).await;
            return Err(problem);
        }
        middleware::check_rate_limit(&self.state)?;
        let stream = stream.ok_or(EventsError::NotFound)?;
        let stream = self.state.engine.events().shown(&client.requester(), stream).await?;
        self.watches.begin(client.origin(), stream, after, id.to_owned())
    }

    /// Sends the events that a stream watch has read, and lets it continue.
    async fn send_update(&mut self, update: WatchUpdate) -> Result<(), CloseReason> {
        let WatchUpdate { stream, commands, page } = update;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                self.watches.end(stream);
                let problem = Problem::from(error);
                if commands.is_empty() {
                    let failed = encode::subscription_failed(stream, self.finished(problem)).await;
                    return self.socket.send(vec![failed]).await;
                }
                for id in commands {
                    self.refuse(Some(&id), problem.clone()).await?;
                }
                return Ok(());
            }
        };
        // Only the first page can lack removed events.
        let begun = commands.iter().map(|id| subscribed(id, stream, page.first));
        let events = page.events.iter().map(|event| encode::event(stream, event));
        let done = page.done.then(|| encode::done(stream, page.next.min(page.end)));
        let messages: Vec<_> = begun.chain(events).chain(done).collect();
        if page.done {
            self.watches.end(stream);
        } else {
            self.watches.go_on(stream, page.next);
        }
        self.send_all(messages).await
    }

    async fn send_all(&mut self, messages: Vec<String>) -> Result<(), CloseReason> {
        if messages.is_empty() { Ok(()) } else { self.socket.send(messages).await }
    }

    fn take_authorization(&mut self, authorization: Authorization) {
        authorization.note_use(self.state.clock.now());
        self.revoked = authorization.revoked();
        self.authorization = Some(authorization);
    }

    /// Whether this token or key is accepted.
    async fn check(&mut self, token: &SecretString) -> Result<Authorization, Problem> {
        let authorization = self.state.tokens.authorize_token(token.expose_secret().as_bytes())?;
        if let Err(problem) = middleware::check_network(&authorization, self.client) {
            audit::record_refused_command(&self.state, "auth", authorization, self.client, problem.code()).await;
            return Err(problem);
        }
        middleware::take_key_quota(&self.state, &authorization).map_or(Ok(()), KeyQuota::check)?;
        Ok(authorization)
    }

    /// Passes when it is another secret of the same client: what the connection watches was checked for that one.
    fn check_same(&self, authorization: Authorization) -> Result<Authorization, Problem> {
        if self.authorization.as_ref().is_some_and(|before| before.key_id() == authorization.key_id()) {
            return Ok(authorization);
        }
        let detail = "the connection was opened by another client; open one for each token and key";
        Err(Problem::new(ErrorCode::Unauthorized, detail))
    }

    /// A wrong token was sent: the response is delayed, more for each wrong token of the same address.
    async fn hold_back(&mut self) {
        let client = self.client.map(|ClientAddress(address)| address);
        if middleware::may_log_unauthenticated(&self.state, client) {
            let peer = client.map(tracing::field::display);
            tracing::info!(peer, "a WebSocket client sent a wrong token");
        }
        middleware::delay_wrong_token(&self.state, client).await;
    }

    async fn refuse(&mut self, id: Option<&str>, problem: Problem) -> Result<(), CloseReason> {
        let refusal = encode::response(id, self.finished(problem)).await;
        self.socket.send(vec![refusal]).await
    }

    /// A problem document as the middleware sends it, with its own request id.
    fn finished(&self, problem: Problem) -> Response {
        let request_id = RequestId::of(&HeaderMap::new(), self.state.randomness.as_ref());
        tracing::debug!(%request_id, code = problem.code().as_str(), "a command was refused");
        let mut response = problem.into_response();
        middleware::finish_response(&mut response, &request_id);
        response
    }
}

/// The response to a `subscribe` that succeeded; `first` is the index of the first event that is left, if earlier ones were
/// removed.
fn subscribed(id: &str, stream: StreamId, first: Option<u64>) -> String {
    let first = first.map_or_else(String::new, |first| format!(",\"first\":{first}"));
    encode::success(id, &format!("{{\"stream_id\":\"{stream}\"{first}}}"))
}
