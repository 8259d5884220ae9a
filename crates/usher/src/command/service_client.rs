//! Requests to the running service of this configuration, for subcommands.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::config::{Loaded, report};
use crate::failure::Failure;

/// How long a request may take: the service answers each within 30 s.
const TIMEOUT: Duration = Duration::from_secs(35);

/// How often a request with an idempotency key is sent when its response is lost.
const ATTEMPTS: u32 = 3;

/// Most of a response that is not the service's that is shown, in characters.
const SHOWN: usize = 200;

/// The running service.
pub(super) struct ServiceClient {
    base: String,
    token: SecretString,
    client: Client,
}

impl ServiceClient {
    /// The service of this configuration. Sends nothing yet.
    ///
    /// # Errors
    /// When its address or token is unknown.
    pub(super) fn new(loaded: &Loaded) -> Result<Self, Failure> {
        let Some(config) = &loaded.config else { return Err(Failure::Configuration(report::problems(loaded))) };
        let base = loaded.base_url.clone().ok_or_else(|| {
            Failure::Configuration(vec!["the address of the service is unknown: info.listen_port is 0".to_owned()])
        })?;
        let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(TIMEOUT).build()?;
        Ok(Self { base, token: config.auth.auth_token.secret().clone(), client })
    }

    /// `GET`
    ///
    /// # Errors
    /// When there is no response, or it is an error.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.read(self.request(Method::GET, path)).await.map_err(Lost::into_failure)
    }

    /// `POST`. With `key`, the request is repeated when its response is lost: the service does its work once.
    ///
    /// # Errors
    /// When there is no response, or it is an error.
    pub(super) async fn post(&self, path: &str, body: &Value, key: Option<&str>) -> Result<Value, Failure> {
        let mut attempt = 1;
        loop {
            let mut request = self.request(Method::POST, path).json(body);
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            match self.read(request).await {
                Err(Lost::NoResponse(_)) if key.is_some() && attempt < ATTEMPTS => {
                    attempt += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                outcome => return outcome.map_err(Lost::into_failure),
            }
        }
    }

    /// `DELETE`
    ///
    /// # Errors
    /// When there is no response, or it is an error.
    pub(super) async fn delete(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.read(self.request(Method::DELETE, path).json(body)).await.map_err(Lost::into_failure)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(self.token.expose_secret())
    }

    async fn read(&self, request: RequestBuilder) -> Result<Value, Lost> {
        let no_response = |error: reqwest::Error| {
            let why = if error.is_connect() { "no service runs" } else { "the service does not respond" };
            Lost::NoResponse(format!("{why} at {}", self.base))
        };
        let response = request.send().await.map_err(no_response)?;
        let status = response.status();
        let text = response.text().await.map_err(no_response)?;
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() && body.is_object() {
            return Ok(body);
        }
        let problems = body["errors"].as_array().into_iter().flatten().filter_map(|error| error["detail"].as_str());
        let problems: Vec<&str> = problems.collect();
        Err(Lost::Refused(match (body["detail"].as_str(), problems.as_slice()) {
            (Some(detail), []) => detail.to_owned(),
            (Some(_), problems) => problems.join("; "),
            (None, _) => {
                let shown: String = text.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
                format!("another program responds at {} (status {}): {shown}", self.base, status.as_u16())
            }
        }))
    }
}

/// Why there is no result.
enum Lost {
    /// The work may have been done.
    NoResponse(String),
    Refused(String),
}

impl Lost {
    fn into_failure(self) -> Failure {
        match self {
            Self::NoResponse(why) | Self::Refused(why) => Failure::said(why),
        }
    }
}
