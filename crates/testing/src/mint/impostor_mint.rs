//! A mint that pretends to be another one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::MintRoute;
use super::false_responses::SOME_POINT;
use super::http_server;
use crate::TcpServer;

const HONEST: Duration = Duration::from_secs(60);

/// A mint on a free loopback port that publishes the keysets and keys of an honest mint, and signs nothing itself.
///
/// The signatures that it gives are those that the honest mint has made of the same outputs, for anybody. It keeps what it
/// is shown, and uses it at the honest mint: see [`steal`](Self::steal) and [`sign_what_was_seen`](Self::sign_what_was_seen).
/// Dropping it closes the port.
#[derive(Debug)]
pub struct ImpostorMint {
    state: Arc<State>,
    server: TcpServer,
}

#[derive(Debug)]
struct State {
    http: reqwest::Client,
    honest: String,
    claims_all: AtomicBool,
    proofs: Mutex<Vec<Value>>,
    outputs: Mutex<Vec<Value>>,
}

impl ImpostorMint {
    pub async fn start(honest: impl Into<String>) -> io::Result<Self> {
        let http = reqwest::Client::builder().timeout(HONEST).no_proxy().build().map_err(io::Error::other)?;
        let state = Arc::new(State {
            http,
            honest: honest.into(),
            claims_all: AtomicBool::new(false),
            proofs: Mutex::default(),
            outputs: Mutex::default(),
        });
        let server = {
            let state = Arc::clone(&state);
            http_server::start(move |request| {
                let state = Arc::clone(&state);
                async move { state.handle(request).await }
            })
        };
        Ok(Self { state, server: server.await })
    }

    /// Its address: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// From now on it claims to have signed all outputs that it is asked about; before, to have signed none.
    pub fn claim_all_signed(&self) {
        self.state.claims_all.store(true, Ordering::Relaxed);
    }

    pub fn outputs_seen(&self) -> usize {
        self.state.outputs.lock().len()
    }

    /// Spends at the honest mint the proofs that it was shown; the sum of those that could be spent.
    pub async fn steal(&self) -> io::Result<u64> {
        let proofs = self.state.proofs.lock().clone();
        let mut stolen = 0;
        for proof in proofs {
            // Any point is an output; the signature of the proof is one that nobody has used for this.
            let output = json!({ "amount": proof["amount"], "id": proof["id"], "B_": proof["C"] });
            let body = json!({ "inputs": [proof], "outputs": [output] });
            if self.state.ask("/v1/swap", &body).await?.0.is_success() {
                stolen += proof["amount"].as_u64().unwrap_or_default();
            }
        }
        Ok(stolen)
    }

    /// Pays the honest mint for signatures, of amount 1, of so many of the outputs that it was shown, the first ones first.
    pub async fn sign_what_was_seen(&self, unit: &str, count: usize) -> io::Result<usize> {
        let outputs: Vec<Value> = self.state.outputs.lock().iter().take(count).cloned().collect();
        let mut signed = 0;
        for mut output in outputs {
            output["amount"] = json!(1);
            let request = json!({ "amount": 1, "unit": unit });
            let (_, quote) = self.state.ask("/v1/mint/quote/bolt11", &request).await?;
            let body = json!({ "quote": quote["quote"], "outputs": [output] });
            signed += usize::from(self.state.ask("/v1/mint/bolt11", &body).await?.0.is_success());
        }
        Ok(signed)
    }
}

impl State {
    async fn handle(&self, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let asked: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (status, body) = match MintRoute::of(head.uri.path()) {
            MintRoute::Info | MintRoute::Keys | MintRoute::Keysets if head.method == Method::GET => {
                let response = self.http.get(format!("{}{}", self.honest, head.uri.path())).send().await;
                let response = response.map_err(io::Error::other)?;
                (response.status(), response.json().await.map_err(io::Error::other)?)
            }
            MintRoute::CreateQuote | MintRoute::QuoteState => (StatusCode::OK, quote(&asked)),
            MintRoute::Mint | MintRoute::Swap => {
                self.remember(&asked);
                self.signatures(&asked).await?
            }
            MintRoute::CheckState => {
                let states = elements(&asked, "Ys").map(|y| json!({ "Y": y, "state": "UNSPENT" }));
                (StatusCode::OK, json!({ "states": states.collect::<Vec<_>>() }))
            }
            MintRoute::Restore => {
                self.remember(&asked);
                let claimed = elements(&asked, "outputs").filter(|_| self.claims_all.load(Ordering::Relaxed));
                let outputs: Vec<_> = claimed.cloned().collect();
                let signature = |output: &Value| json!({ "amount": 1, "id": output["id"], "C_": SOME_POINT });
                let signatures: Vec<_> = outputs.iter().map(signature).collect();
                (StatusCode::OK, json!({ "outputs": outputs, "signatures": signatures }))
            }
            _ => (StatusCode::NOT_FOUND, Value::Null),
        };
        let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        Ok(response)
    }

    fn remember(&self, asked: &Value) {
        self.proofs.lock().extend(elements(asked, "inputs").cloned());
        self.outputs.lock().extend(elements(asked, "outputs").cloned());
    }

    /// The honest mint's signatures of the outputs, which it gives to anybody who has the outputs (NUT-09).
    async fn signatures(&self, asked: &Value) -> io::Result<(StatusCode, Value)> {
        let outputs: Vec<_> = elements(asked, "outputs").cloned().collect();
        let (_, restored) = self.ask("/v1/restore", &json!({ "outputs": outputs })).await?;
        let signatures: Vec<_> = elements(&restored, "signatures").cloned().collect();
        Ok(if signatures.len() == outputs.len() {
            (StatusCode::OK, json!({ "signatures": signatures }))
        } else {
            (StatusCode::BAD_REQUEST, json!({ "code": 0, "detail": "no" }))
        })
    }

    /// Sends a request to the honest mint.
    async fn ask(&self, path: &str, body: &Value) -> io::Result<(StatusCode, Value)> {
        let request = self.http.post(format!("{}{path}", self.honest)).json(body);
        let response = request.send().await.map_err(io::Error::other)?;
        Ok((response.status(), response.json().await.unwrap_or(Value::Null)))
    }
}

fn elements<'a>(body: &'a Value, array: &str) -> impl Iterator<Item = &'a Value> {
    body.get(array).and_then(Value::as_array).into_iter().flatten()
}

fn quote(asked: &Value) -> Value {
    json!({
        "quote": "free", "request": "free", "amount": asked["amount"], "unit": asked["unit"], "state": "PAID",
        "expiry": null, "amount_paid": asked["amount"], "amount_issued": 0,
    })
}
