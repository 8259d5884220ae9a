//! An external verification service, by a small HTTP contract (docs/verification.md, "A service of your own").

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;
use usher_engine::ports::{AgeCheckResult, AgeVerifier, AgeVerifierError, BegunAgeCheck, NewAgeCheck, PendingAgeCheck};

use crate::http::Http;

/// Longest id of a check, in bytes.
const MAX_CHECK_ID: usize = 256;

/// Options of the service.
#[derive(Clone, Debug)]
pub struct VerificationServiceOptions {
    /// The base URL of checks (`verification.remote.url`).
    pub url: Url,
    /// Sent as bearer token (`verification.remote.api_key`).
    pub api_key: Option<SecretString>,
}

/// An external verification service.
#[derive(Debug)]
pub struct VerificationServiceClient {
    http: Http,
    /// Without a trailing slash.
    base: String,
    name: String,
    authorization: Option<HeaderValue>,
}

#[derive(Deserialize)]
struct CheckStarted {
    check_id: String,
    url: String,
}

#[derive(Deserialize)]
struct Status {
    status: String,
}

impl VerificationServiceClient {
    /// A verifier with this TLS configuration. Does not connect.
    ///
    /// # Errors
    /// If the API key is not a valid header value.
    pub fn new(
        options: &VerificationServiceOptions,
        tls: rustls::ClientConfig,
    ) -> Result<Self, http::header::InvalidHeaderValue> {
        let authorization = options.api_key.as_ref().map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self {
            http: Http::new(tls),
            base: options.url.as_str().trim_end_matches('/').to_owned(),
            name: options.url.host_str().unwrap_or_default().to_owned(),
            authorization: authorization.transpose()?,
        })
    }

    fn headers(&self) -> HeaderMap {
        self.authorization.iter().map(|value| (AUTHORIZATION, value.clone())).collect()
    }
}

#[async_trait]
impl AgeVerifier for VerificationServiceClient {
    fn name(&self) -> &str {
        &self.name
    }

    async fn probe(&self) -> Result<(), AgeVerifierError> {
        // There is no such check: every response except a refusal of the API key follows the contract.
        let uri = format!("{}/checks/usher-doctor", self.base);
        let response = self.http.send(Method::GET, &uri, self.headers(), Vec::new()).await?;
        match response.status() {
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(invalid(&format!("it refuses the API key (status {status})")))
            }
            status if status.is_server_error() => Err(AgeVerifierError::Unreachable(format!("status {status}"))),
            _ => Ok(()),
        }
    }

    async fn begin(&self, check: &NewAgeCheck) -> Result<BegunAgeCheck, AgeVerifierError> {
        let NewAgeCheck { minimum_age, return_url, state, expires_at } = check;
        let mut return_url = Url::parse(return_url).map_err(|_| invalid("our own address is not a URL"))?;
        return_url.query_pairs_mut().append_pair("state", state);
        let body =
            json!({ "minimum_age": minimum_age, "return_url": return_url.as_str(), "expires_at": expires_at.secs() });
        let mut headers = self.headers();
        if let Ok(key) = HeaderValue::from_str(state) {
            headers.insert(HeaderName::from_static("idempotency-key"), key);
        }
        let begun = self.http.json(Method::POST, &format!("{}/checks", self.base), headers, Some(&body)).await?;
        let CheckStarted { check_id, url } =
            serde_json::from_value(begun).map_err(|_| invalid("it has no `check_id` or no `url`"))?;
        let is_web = Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_web {
            return Err(invalid("`url` is not an http(s) URL"));
        }
        if check_id.is_empty() || check_id.len() > MAX_CHECK_ID {
            return Err(invalid("`check_id` must be 1 to 256 bytes"));
        }
        Ok(BegunAgeCheck { url, pending: PendingAgeCheck(check_id) })
    }

    async fn result(&self, pending: &PendingAgeCheck, _: Option<&str>) -> Result<AgeCheckResult, AgeVerifierError> {
        let id: String = url::form_urlencoded::byte_serialize(pending.0.as_bytes()).collect();
        // In a path, a space is not written as `+`.
        let uri = format!("{}/checks/{}", self.base, id.replace('+', "%20"));
        let status = self.http.json(Method::GET, &uri, self.headers(), None).await?;
        let Status { status } = serde_json::from_value(status).map_err(|_| invalid("it has no `status`"))?;
        match status.as_str() {
            "pending" => Ok(AgeCheckResult::Pending),
            "passed" => Ok(AgeCheckResult::Passed),
            "failed" => Ok(AgeCheckResult::Failed { reason: "the age verifier did not confirm the age" }),
            "cancelled" => Ok(AgeCheckResult::Cancelled),
            _ => Err(invalid("`status` is not pending, passed, failed or cancelled")),
        }
    }

    fn can_be_polled(&self) -> bool {
        true
    }
}

fn invalid(what: &str) -> AgeVerifierError {
    AgeVerifierError::Invalid(what.to_owned())
}
