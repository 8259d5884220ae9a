//! A proxy in front of a mint that injects faults.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::http_server;
use super::{FalseResponse, Fault, Garbage, MintRoute};
use crate::TcpServer;

const HONEST: Duration = Duration::from_secs(60);

/// Time for the first half of a response to be sent.
const BEFORE_CUT: Duration = Duration::from_millis(20);

/// Calls that are remembered, the oldest being forgotten first.
const CALLS: usize = 10_000;

/// A proxy on a free loopback port in front of an honest mint, which injects the configured faults.
///
/// Its address is the mint's for wallets behind it: tokens name it. Dropping it closes every connection.
#[derive(Debug)]
pub struct FaultyMint {
    proxy: Arc<Proxy>,
    server: TcpServer,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MintCall {
    pub route: MintRoute,
    /// The header `Clear-auth`.
    pub auth: Option<String>,
    /// The body as JSON, `null` without one.
    pub body: Value,
}

#[derive(Debug)]
struct Proxy {
    http: reqwest::Client,
    target: String,
    faults: Mutex<Faults>,
    calls: Mutex<VecDeque<MintCall>>,
}

#[derive(Debug)]
struct Held {
    secret: String,
    state: &'static str,
    /// Whether state checks say so, and not only swaps.
    is_told: bool,
}

#[derive(Debug, Default)]
struct Faults {
    lasting: BTreeMap<MintRoute, Fault>,
    /// For the next requests of a route, one after the other; `None` lets one through.
    next: BTreeMap<MintRoute, VecDeque<Option<Fault>>>,
    /// Proofs with a false state, by their points Y in hex.
    held: HashMap<String, Held>,
}

impl Faults {
    fn take(&mut self, route: MintRoute) -> Option<Fault> {
        match self.next.get_mut(&route).and_then(VecDeque::pop_front) {
            Some(next) => next,
            None => self.lasting.get(&route).cloned(),
        }
    }

    /// Whether a request swaps some of the proofs with a false state; their state. State checks tell it from now on.
    fn held_input(&mut self, body: &Value) -> Option<&'static str> {
        let inputs = body["inputs"].as_array()?;
        let mut state = None;
        for held in self.held.values_mut() {
            if inputs.iter().any(|input| input["secret"] == held.secret) {
                held.is_told = true;
                state = Some(held.state);
            }
        }
        state
    }
}

impl FaultyMint {
    /// Starts a proxy to the mint at `target` (`http://host:port`). Without faults it is as honest as the mint.
    pub async fn start(target: impl Into<String>) -> io::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(HONEST)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(io::Error::other)?;
        let proxy = Arc::new(Proxy { http, target: target.into(), faults: Mutex::default(), calls: Mutex::default() });
        let server = {
            let proxy = Arc::clone(&proxy);
            http_server::start(move |request| {
                let proxy = Arc::clone(&proxy);
                async move { proxy.handle(request).await }
            })
        };
        Ok(Self { proxy, server: server.await })
    }

    /// Its address: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// What goes wrong with every request of this route from now on.
    pub fn set(&self, route: MintRoute, fault: Fault) {
        self.proxy.faults.lock().lasting.insert(route, fault);
    }

    /// What goes wrong with every request from now on.
    pub fn set_all(&self, fault: &Fault) {
        self.proxy.faults.lock().lasting.extend(MintRoute::ALL.map(|route| (route, fault.clone())));
    }

    /// What goes wrong with the next request of this route that nothing is planned for.
    pub fn once(&self, route: MintRoute, fault: Fault) {
        self.proxy.faults.lock().next.entry(route).or_default().push_back(Some(fault));
    }

    /// Nothing goes wrong with the next request of this route that nothing is planned for.
    pub fn pass(&self, route: MintRoute) {
        self.proxy.faults.lock().next.entry(route).or_default().push_back(None);
    }

    /// These proofs, each with its point Y in hex and its secret, have this state (NUT-07) from now on, and swaps of them are
    /// refused. `PENDING`: as if somebody paid an invoice with them that nobody settles. `SPENT`: a lie.
    pub fn hold(&self, proofs: impl IntoIterator<Item = (String, String)>, state: &'static str) {
        self.hold_as(proofs, state, true);
    }

    /// The same with `PENDING`, but state checks tell the truth until a swap of the proofs was refused.
    pub fn hold_from_swap(&self, proofs: impl IntoIterator<Item = (String, String)>) {
        self.hold_as(proofs, "PENDING", false);
    }

    fn hold_as(&self, proofs: impl IntoIterator<Item = (String, String)>, state: &'static str, is_told: bool) {
        let held = proofs.into_iter().map(|(y, secret)| (y, Held { secret, state, is_told }));
        self.proxy.faults.lock().held.extend(held);
    }

    /// Nothing lasting goes wrong with new requests of this route.
    pub fn clear(&self, route: MintRoute) {
        self.proxy.faults.lock().lasting.remove(&route);
    }

    /// Removes all faults for new requests. Requests that already hang keep hanging.
    pub fn heal(&self) {
        *self.proxy.faults.lock() = Faults::default();
    }

    /// The requests so far, oldest first.
    pub fn calls(&self) -> Vec<MintCall> {
        self.proxy.calls.lock().iter().cloned().collect()
    }

    /// How many requests of this route came so far.
    pub fn count(&self, route: MintRoute) -> usize {
        self.proxy.calls.lock().iter().filter(|call| call.route == route).count()
    }

    /// Closes the port and every connection, and waits until that is done.
    pub async fn stop(&self) {
        self.server.stop().await;
    }
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

impl Proxy {
    /// An error closes the connection.
    async fn handle(&self, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let route = MintRoute::of(head.uri.path());
        let fault = self.faults.lock().take(route);
        self.remember(MintCall {
            route,
            auth: head.headers.get("clear-auth").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        });
        let forward = || self.forward(&head, body.clone());
        if fault.is_none() && matches!(route, MintRoute::Swap | MintRoute::CheckState) {
            return self.with_held(route, &body, forward()).await;
        }
        match fault {
            None => forward().await,
            Some(Fault::Refuse { status, code, detail }) => Ok(refusal(status, code, &detail)),
            Some(Fault::ActAndRefuse { status, code, detail }) => {
                forward().await?;
                Ok(refusal(status, code, &detail))
            }
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::ActAndHang) => {
                forward().await?;
                std::future::pending().await
            }
            Some(Fault::Drop) => Err(closed()),
            Some(Fault::ActAndDrop) => {
                forward().await?;
                Err(closed())
            }
            Some(Fault::ActAndCut) => cut(forward().await?).await,
            Some(Fault::Delay(delay)) => {
                let response = forward().await?;
                tokio::time::sleep(delay).await;
                Ok(response)
            }
            Some(Fault::ActLate(delay)) => {
                tokio::time::sleep(delay).await;
                forward().await
            }
            Some(Fault::Garbage(garbage)) => garbled(forward().await?, &garbage).await,
            Some(Fault::False(response)) => falsified(forward().await?, &response).await,
            Some(Fault::Redirect(location)) => {
                let mut response = response(StatusCode::TEMPORARY_REDIRECT, Bytes::new());
                let location = header::HeaderValue::from_str(&location).map_err(io::Error::other)?;
                response.headers_mut().insert(header::LOCATION, location);
                Ok(response)
            }
        }
    }

    /// The response to a swap or a state check, as the proofs with a false state have it.
    async fn with_held(
        &self,
        route: MintRoute,
        body: &Bytes,
        forward: impl Future<Output = io::Result<Response<Body>>>,
    ) -> io::Result<Response<Body>> {
        let request = serde_json::from_slice(body).unwrap_or(Value::Null);
        let (held, states) = {
            let mut faults = self.faults.lock();
            let held = if route == MintRoute::Swap { faults.held_input(&request) } else { None };
            let told = faults.held.iter().filter(|(_, held)| held.is_told);
            (held, told.map(|(y, held)| (y.clone(), held.state)).collect::<HashMap<_, _>>())
        };
        match held {
            Some("PENDING") => Ok(refusal(400, 11002, "Token is pending")),
            Some(_) => Ok(refusal(400, 11001, "Token is already spent")),
            None if states.is_empty() || route == MintRoute::Swap => forward.await,
            None => falsified(forward.await?, &FalseResponse::StatesOf(states)).await,
        }
    }

    fn remember(&self, call: MintCall) {
        let mut calls = self.calls.lock();
        if calls.len() == CALLS {
            calls.pop_front();
        }
        calls.push_back(call);
    }

    /// The honest mint's response. A mint that is not there is a connection that is closed.
    async fn forward(&self, head: &hyper::http::request::Parts, body: Bytes) -> io::Result<Response<Body>> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.target);
        let mut request = self.http.request(head.method.clone(), url).body(body);
        for name in ["clear-auth", "blind-auth", "content-type", "accept"] {
            if let Some(value) = head.headers.get(name) {
                request = request.header(name, value);
            }
        }
        let honest = request.send().await.map_err(io::Error::other)?;
        let status = honest.status();
        Ok(response(status, honest.bytes().await.map_err(io::Error::other)?))
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "closed on purpose")
}

fn response(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).map_err(infallible).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn infallible(never: Infallible) -> io::Error {
    match never {}
}

fn refusal(status: u16, code: u32, detail: &str) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    response(status, json!({ "code": code, "detail": detail }).to_string().into())
}

async fn bytes(honest: Response<Body>) -> io::Result<Bytes> {
    Ok(honest.into_body().collect().await?.to_bytes())
}

/// Sends half of the announced length, then closes the connection.
async fn cut(honest: Response<Body>) -> io::Result<Response<Body>> {
    let status = honest.status();
    let body = bytes(honest).await?;
    let half = body.slice(..body.len() / 2);
    let frames =
        futures_util::stream::once(async move { Ok(Frame::data(half)) }).chain(futures_util::stream::once(async {
            // An error at once would take the first half with it.
            tokio::time::sleep(BEFORE_CUT).await;
            Err(closed())
        }));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
    Ok(response)
}

async fn garbled(honest: Response<Body>, garbage: &Garbage) -> io::Result<Response<Body>> {
    let honest = bytes(honest).await?;
    Ok(match garbage {
        Garbage::Empty => response(StatusCode::OK, Bytes::new()),
        Garbage::Html => response(StatusCode::OK, "<!doctype html><title>Welcome</title>".into()),
        Garbage::Bytes => response(StatusCode::OK, Bytes::from_static(&[0xff, 0xfe, 0x00, 0x80])),
        Garbage::Half => response(StatusCode::OK, honest.slice(..honest.len() / 2)),
        Garbage::EmptyObject => response(StatusCode::OK, "{}".into()),
        Garbage::Nested(depth) => response(StatusCode::OK, ("[".repeat(*depth) + &"]".repeat(*depth)).into()),
        Garbage::Huge(size) => {
            response(StatusCode::OK, format!("{{\"signatures\":[\"{}\"]}}", "a".repeat(*size)).into())
        }
        Garbage::Endless => {
            let chunks = futures_util::stream::repeat_with(|| Ok(Frame::data(Bytes::from_static(&[b'['; 16_384]))));
            Response::new(StreamBody::new(chunks).boxed_unsync())
        }
    })
}

/// An error of the honest mint stays an error.
async fn falsified(honest: Response<Body>, change: &FalseResponse) -> io::Result<Response<Body>> {
    let status = honest.status();
    let body = bytes(honest).await?;
    if !status.is_success() {
        return Ok(response(status, body));
    }
    let mut value: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    change.apply(&mut value);
    Ok(response(status, value.to_string().into()))
}
