//! Typed requests to one mint, bounded in time and size.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cashu::nuts::nut09::{RestoreRequest, RestoreResponse};
use cashu::{
    BlindSignature, BlindedMessage, CheckStateRequest, CheckStateResponse, KeySet, KeysResponse, KeysetResponse,
    MintQuoteBolt11Response, MintRequest, MintResponse, ProofState, Proofs, PublicKey, SwapRequest, SwapResponse,
};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use usher_address_guard::{AddressSource, GuardError};
use usher_engine::ports::MintAuthToken;
use usher_http_client::{Client, ClientOptions, Error, Pool};

use crate::TicketOptions;
use crate::mint_address::MintAddress;
use crate::mint_error::{MintError, Refusal};

/// Longest response body, in bytes: signatures for 500 outputs take about 250 KB.
const MAX_BODY: usize = 1024 * 1024;

/// How long an idle connection is kept: less than the 5 s after which common servers close it.
const IDLE: Duration = Duration::from_secs(4);

#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    client: Client,
    allow_private: bool,
}

impl HttpClient {
    pub(crate) fn new(options: &TicketOptions) -> Self {
        let source = if options.allow_private { AddressSource::Operator } else { AddressSource::User };
        let within = options.request_timeout;
        let client = Client::new(ClientOptions {
            https_only: !options.allow_private,
            connect_timeout: within / 2,
            pool: Some(Pool { connections: options.requests_per_mint, idle: IDLE }),
            ..ClientOptions::new(options.tls.clone(), source, within)
        });
        Self { client, allow_private: options.allow_private }
    }

    /// Whether requests to this address are allowed. Resolved addresses are checked with each connection.
    pub(crate) fn check(&self, address: &MintAddress) -> Result<(), MintError> {
        let not_allowed = |reason: &str| Err(MintError::AddressNotAllowed(reason.to_owned()));
        if self.allow_private {
            return Ok(());
        }
        if !address.is_https() {
            return not_allowed("mints must be https:// addresses");
        }
        if address.ip().is_some_and(|ip| !usher_address_guard::is_public(ip)) {
            return not_allowed("it is not a public address");
        }
        Ok(())
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<(StatusCode, Vec<u8>), MintError> {
        let response = self.client.fetch(request, MAX_BODY).await.map_err(|error| failure(&error))?;
        Ok((response.status(), response.into_body()))
    }
}

/// Converts an error of the HTTP client. The result contains neither the address nor text of the server.
fn failure(error: &Error) -> MintError {
    match error {
        Error::TimedOut => MintError::TimedOut,
        Error::TooLarge => MintError::Invalid(error.to_string()),
        Error::Body(_) => MintError::Unreachable { reason: error.to_string(), sent: true },
        error => match error.guard() {
            Some(GuardError::NotPublic) => MintError::AddressNotAllowed(GuardError::NotPublic.to_string()),
            _ => MintError::Unreachable { reason: error.root_cause().to_string(), sent: error.may_be_sent() },
        },
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MintClient {
    http: HttpClient,
    address: MintAddress,
    responds: Arc<Mutex<Option<bool>>>,
}

impl MintClient {
    pub(crate) fn new(http: HttpClient, address: MintAddress) -> Self {
        Self { http, address, responds: Arc::default() }
    }

    /// Whether the last request got a response other than a server error; `None` before the first request.
    pub(crate) fn responds(&self) -> Option<bool> {
        *self.responds.lock()
    }

    /// The mint's info (NUT-06).
    pub(crate) async fn info(&self) -> Result<serde_json::Value, MintError> {
        self.request(Method::GET, "/v1/info", None, None::<&()>).await
    }

    /// All keysets, without their keys (NUT-02).
    pub(crate) async fn keysets(&self) -> Result<KeysetResponse, MintError> {
        self.request(Method::GET, "/v1/keysets", None, None::<&()>).await
    }

    /// The keys of one keyset (NUT-01); not verified.
    pub(crate) async fn keys(&self, id: cashu::Id) -> Result<Option<KeySet>, MintError> {
        let path = format!("/v1/keys/{id}");
        let response: KeysResponse = self.request(Method::GET, &path, None, None::<&()>).await?;
        Ok(response.keysets.into_iter().find(|keyset| keyset.id == id))
    }

    /// Requests a quote (NUT-04, NUT-23).
    pub(crate) async fn quote(
        &self,
        request: &cashu::MintQuoteBolt11Request,
        auth: Option<&MintAuthToken>,
    ) -> Result<MintQuoteBolt11Response<String>, MintError> {
        read_quote(self.request(Method::POST, "/v1/mint/quote/bolt11", auth, Some(request)).await?)
    }

    pub(crate) async fn quote_state(
        &self,
        quote: &str,
        auth: Option<&MintAuthToken>,
    ) -> Result<MintQuoteBolt11Response<String>, MintError> {
        let path = format!("/v1/mint/quote/bolt11/{}", utf8_percent_encode(quote, NON_ALPHANUMERIC));
        read_quote(self.request(Method::GET, &path, auth, None::<&()>).await?)
    }

    /// Mints outputs for a paid quote (NUT-04).
    pub(crate) async fn mint(
        &self,
        quote: &str,
        outputs: Vec<BlindedMessage>,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<BlindSignature>, MintError> {
        let request = MintRequest { quote: quote.to_owned(), outputs, signature: None };
        let response: MintResponse = self.request(Method::POST, "/v1/mint/bolt11", auth, Some(&request)).await?;
        Ok(response.signatures)
    }

    /// Swaps inputs for outputs (NUT-03). The DLEQ proofs of the inputs are not sent: they would link the inputs to the outputs
    /// that they came from.
    pub(crate) async fn swap(
        &self,
        inputs: Proofs,
        outputs: Vec<BlindedMessage>,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<BlindSignature>, MintError> {
        let request = SwapRequest::new(inputs, outputs);
        let response: SwapResponse = self.request(Method::POST, "/v1/swap", auth, Some(&request)).await?;
        Ok(response.signatures)
    }

    /// The states of proofs (NUT-07), in the order of `ys`.
    pub(crate) async fn check_state(
        &self,
        ys: Vec<PublicKey>,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<ProofState>, MintError> {
        let request = CheckStateRequest { ys };
        let response: CheckStateResponse = self.request(Method::POST, "/v1/checkstate", auth, Some(&request)).await?;
        let states = response.states;
        if states.len() != request.ys.len() || states.iter().zip(&request.ys).any(|(state, y)| state.y != *y) {
            return Err(MintError::Invalid("the states are of other proofs".to_owned()));
        }
        Ok(states)
    }

    /// The outputs that the mint has signed, with its signatures (NUT-09).
    pub(crate) async fn restore(
        &self,
        outputs: Vec<BlindedMessage>,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<(BlindedMessage, BlindSignature)>, MintError> {
        let request = RestoreRequest { outputs };
        let response: RestoreResponse = self.request(Method::POST, "/v1/restore", auth, Some(&request)).await?;
        if response.outputs.len() != response.signatures.len() || response.outputs.len() > request.outputs.len() {
            return Err(MintError::Invalid("it restores other outputs".to_owned()));
        }
        Ok(response.outputs.into_iter().zip(response.signatures).collect())
    }

    async fn request<Response: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        auth: Option<&MintAuthToken>,
        body: Option<&impl Serialize>,
    ) -> Result<Response, MintError> {
        self.http.check(&self.address)?;
        let ours = |what: &str| {
            MintError::Refused(Refusal { code: None, text: format!("no request can be made of the {what}") })
        };
        let body = match body {
            Some(body) => serde_json::to_vec(body).map_err(|_| ours("body"))?,
            None => Vec::new(),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, "usher")
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = auth {
            let mut header = HeaderValue::from_str(&token.0).map_err(|_| ours("auth token"))?;
            header.set_sensitive(true);
            request = request.header("clear-auth", header);
        }
        let request = request.body(Bytes::from(body)).map_err(|_| ours("address"))?;
        let exchange = self.http.exchange(request).await;
        *self.responds.lock() = Some(exchange.as_ref().is_ok_and(|(status, _)| !status.is_server_error()));
        let (status, body) = exchange?;
        if !status.is_success() {
            return Err(MintError::from_status(status.as_u16(), &body).without(auth));
        }
        serde_json::from_slice(&body).map_err(|_| {
            MintError::Invalid(format!(
                "the response of {path} is not as the protocol has it",
                path = first_parts(path)
            ))
        })
    }
}

/// Reads a quote. `cashu` reads a missing state as unpaid; treating it as unpaid would leave a paid quote unminted.
fn read_quote(quote: serde_json::Value) -> Result<MintQuoteBolt11Response<String>, MintError> {
    if quote.get("state").is_none_or(serde_json::Value::is_null) {
        let reason = "its quote has no `state`: it is too old, or does not follow NUT-04";
        return Err(MintError::Invalid(reason.to_owned()));
    }
    serde_json::from_value(quote).map_err(|_| MintError::Invalid("its quote is not as NUT-04 has it".to_owned()))
}

fn first_parts(path: &str) -> String {
    path.split('/').take(4).collect::<Vec<_>>().join("/")
}
