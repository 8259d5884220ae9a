//! An OpenID Connect provider with claims about a user's age.
//!
//! The authorization code flow with PKCE (S256), `state` and `nonce`. The provider's metadata and keys, found by
//! discovery, are cached for ten minutes, and fetched again when an ID token names an unknown key. Claims come from the
//! ID token, or else from the userinfo endpoint for the same subject. They are evaluated and discarded.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreTokenResponse,
};
use openidconnect::{
    AccessToken, AccessTokenHash, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret,
    CsrfToken, HttpRequest, HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope, SignatureVerificationError, TokenResponse as _,
};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;
use usher_engine::ports::{
    AgeCheckResult, AgeVerifier, AgeVerifierError, BegunAgeCheck, Clock, NewAgeCheck, PendingAgeCheck,
};

use crate::age_claims::AgeClaim;
use crate::http::Http;

/// How long the provider's metadata and keys are cached.
const METADATA_AGE: Duration = Duration::from_secs(600);

/// How far ahead the provider's clock may be, in seconds.
const CLOCK_SKEW: i64 = 60;

/// Accepted signature algorithms: only asymmetric ones, with which nobody but the provider can sign.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 8] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
];

/// Protocol claims of an ID token; all others are about the user.
const PROTOCOL_CLAIMS: [&str; 12] =
    ["iss", "sub", "aud", "exp", "iat", "nonce", "auth_time", "acr", "amr", "azp", "at_hash", "c_hash"];

/// Options of the provider and this service's client there.
#[derive(Clone, Debug)]
pub struct OidcOptions {
    /// The issuer identifier (`verification.oidc.issuer`).
    pub issuer: Url,
    /// This service's client id (`verification.oidc.client_id`).
    pub client_id: String,
    /// The client's secret, if it has one (`verification.oidc.client_secret`).
    pub client_secret: Option<SecretString>,
    /// The claim for the age; `None`: `birthdate` or `age_over_<minimum age>` (`verification.oidc.claim`).
    pub claim: Option<String>,
    /// Scopes beside `openid` (`verification.oidc.scopes`).
    pub scopes: Vec<String>,
}

/// An OpenID Connect provider.
pub struct OidcVerifier {
    http: Http,
    clock: Arc<dyn Clock>,
    issuer: IssuerUrl,
    name: String,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    claim: AgeClaim,
    scopes: Vec<Scope>,
    /// With the time when they were fetched, on the monotonic clock.
    metadata: Mutex<Option<(Duration, Arc<CoreProviderMetadata>)>>,
}

/// The stored state of a check.
#[derive(Serialize, Deserialize)]
struct PendingCheck {
    nonce: Nonce,
    verifier: PkceCodeVerifier,
    return_url: String,
    minimum_age: u64,
}

/// The parameters with which the browser returns.
#[derive(Default)]
struct Returned {
    code: Option<String>,
    error: Option<String>,
    issuer: Option<String>,
}

impl std::fmt::Debug for OidcVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcVerifier").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl OidcVerifier {
    /// A verifier with this TLS configuration. Does not connect.
    ///
    /// # Errors
    /// If the issuer is not a URL.
    pub fn new(
        options: OidcOptions,
        tls: rustls::ClientConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, url::ParseError> {
        // Issuers are compared character by character, without the slash that a URL without a path gets.
        let issuer = options.issuer.as_str();
        let issuer = if options.issuer.path() == "/" { issuer.trim_end_matches('/') } else { issuer };
        Ok(Self {
            http: Http::new(tls),
            clock,
            issuer: IssuerUrl::new(issuer.to_owned())?,
            name: options.issuer.host_str().unwrap_or_default().to_owned(),
            client_id: ClientId::new(options.client_id),
            client_secret: options.client_secret.map(|secret| ClientSecret::new(secret.expose_secret().to_owned())),
            claim: options.claim.map_or(AgeClaim::Standard, AgeClaim::Named),
            scopes: options.scopes.into_iter().map(Scope::new).collect(),
            metadata: Mutex::default(),
        })
    }

    async fn metadata(&self, refresh: bool) -> Result<Arc<CoreProviderMetadata>, AgeVerifierError> {
        let now = self.clock.monotonic();
        let known = self.metadata.lock().clone().filter(|(at, _)| !refresh && now < at.saturating_add(METADATA_AGE));
        if let Some((_, metadata)) = known {
            return Ok(metadata);
        }
        let metadata = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.client()).await;
        let metadata = Arc::new(metadata.map_err(|error| match error {
            openidconnect::DiscoveryError::Request(error) => error,
            openidconnect::DiscoveryError::Response(status, ..) => invalid(&format!("discovery: status {status}")),
            openidconnect::DiscoveryError::Validation(_) => invalid("discovery: it is of another issuer"),
            _ => invalid("discovery: it is not the document that was expected"),
        })?);
        *self.metadata.lock() = Some((now, Arc::clone(&metadata)));
        Ok(metadata)
    }

    /// Connects the library to our HTTP client.
    fn client(
        &self,
    ) -> impl Fn(HttpRequest) -> futures_util::future::BoxFuture<'static, Result<HttpResponse, AgeVerifierError>>
    + Send
    + Sync
    + use<> {
        let http = self.http.clone();
        move |request| {
            let http = http.clone();
            Box::pin(async move {
                let (head, body) = request.into_parts();
                http.send(head.method, &head.uri.to_string(), head.headers, body).await
            })
        }
    }

    /// The tokens for a code; `None` if a claim has the wrong type, for which the library rejects the ID token.
    async fn exchange(
        &self,
        metadata: &CoreProviderMetadata,
        code: String,
        pending: &PendingCheck,
    ) -> Result<Option<CoreTokenResponse>, AgeVerifierError> {
        let return_url = RedirectUrl::new(pending.return_url.clone()).map_err(|_| invalid("our own address"))?;
        let client =
            CoreClient::from_provider_metadata(metadata.clone(), self.client_id.clone(), self.client_secret.clone())
                .set_redirect_uri(return_url)
                .set_auth_type(auth_type(metadata));
        let request = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| invalid("discovery: it has no token endpoint"))?
            .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier.secret().clone()));
        match request.request_async(&self.client()).await {
            Ok(tokens) => Ok(Some(tokens)),
            Err(openidconnect::RequestTokenError::Request(error)) => Err(error),
            Err(openidconnect::RequestTokenError::ServerResponse(_)) => {
                Err(AgeVerifierError::Mismatch("the provider refuses the code"))
            }
            Err(openidconnect::RequestTokenError::Parse(_, body)) if is_fine_without_user_claims(&body) => Ok(None),
            Err(_) => Err(invalid("the token endpoint's response")),
        }
    }

    fn tells_no_age(&self) -> AgeCheckResult {
        tracing::warn!(
            provider = self.name,
            "the provider tells no age, or a claim has the wrong type: check verification.oidc.claim and \
             verification.oidc.scopes"
        );
        AgeCheckResult::Failed { reason: "the provider tells no age" }
    }

    /// The claims of the ID token, if it is from the provider, for this client and for this check.
    async fn verified(
        &self,
        metadata: Arc<CoreProviderMetadata>,
        token: &CoreIdToken,
        access_token: &AccessToken,
        nonce: &Nonce,
    ) -> Result<Value, AgeVerifierError> {
        match self.verify(&metadata, token, access_token, nonce) {
            // The provider has changed its keys.
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                let metadata = self.metadata(true).await?;
                self.verify(&metadata, token, access_token, nonce)
            }
            verified => verified,
        }
        .map_err(|error| invalid(fault(&error)))?;
        // Verified above; this only parses the same text again.
        let text = token.to_string();
        let payload = text.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let claims: Option<Value> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
        let claims = claims.ok_or_else(|| invalid("the ID token"))?;
        // The library does not check this claim (RFC 7519, section 4.1.5).
        match claims.get("nbf") {
            Some(nbf) if !nbf.as_f64().is_some_and(|nbf| nbf <= self.latest_start()) => {
                Err(invalid("the ID token is not valid yet"))
            }
            _ => Ok(claims),
        }
    }

    fn verify(
        &self,
        metadata: &CoreProviderMetadata,
        token: &CoreIdToken,
        access_token: &AccessToken,
        nonce: &Nonce,
    ) -> Result<(), ClaimsVerificationError> {
        let client =
            CoreClient::from_provider_metadata(metadata.clone(), self.client_id.clone(), self.client_secret.clone());
        let offered = metadata.id_token_signing_alg_values_supported();
        let now = self.now();
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs(ALGORITHMS.into_iter().filter(|algorithm| offered.contains(algorithm)))
            .set_time_fn(move || now);
        let claims = token.claims(&verifier, nonce)?;
        if let Some(expected) = claims.access_token_hash() {
            let algorithm = token.signing_alg().map_err(ClaimsVerificationError::SignatureVerification)?;
            let key = token.signing_key(&verifier).map_err(ClaimsVerificationError::SignatureVerification)?;
            let actual = AccessTokenHash::from_token(access_token, algorithm, key);
            if actual.ok().as_ref() != Some(expected) {
                return Err(ClaimsVerificationError::Other(String::new()));
            }
        }
        Ok(())
    }

    /// The claims of the userinfo endpoint; `None` if there is no such endpoint.
    async fn userinfo(
        &self,
        metadata: &CoreProviderMetadata,
        access_token: &AccessToken,
        subject: Option<&Value>,
    ) -> Result<Option<Value>, AgeVerifierError> {
        let Some(endpoint) = metadata.userinfo_endpoint() else { return Ok(None) };
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", access_token.secret()))
            .map_err(|_| invalid("the access token"))?;
        authorization.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
        let claims = self.http.json(Method::GET, endpoint.as_str(), headers, None).await?;
        // OpenID Connect Core 5.3.4.
        if subject.is_none() || claims.get("sub") != subject {
            return Err(invalid("userinfo is of another subject"));
        }
        Ok(Some(claims))
    }

    /// The latest valid start of an ID token, in Unix seconds: the provider's clock may be ahead.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
    fn latest_start(&self) -> f64 {
        (self.now().timestamp() + CLOCK_SKEW) as f64
    }

    fn now(&self) -> DateTime<Utc> {
        let now = i64::try_from(self.clock.now().secs()).unwrap_or(i64::MAX);
        DateTime::from_timestamp(now, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

#[async_trait]
impl AgeVerifier for OidcVerifier {
    fn name(&self) -> &str {
        &self.name
    }

    async fn probe(&self) -> Result<(), AgeVerifierError> {
        is_usable(&*self.metadata(true).await?)
    }

    async fn begin(&self, check: &NewAgeCheck) -> Result<BegunAgeCheck, AgeVerifierError> {
        let metadata = self.metadata(false).await?;
        is_usable(&metadata)?;
        let return_url = RedirectUrl::new(check.return_url.clone()).map_err(|_| invalid("our own address"))?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = Nonce::new_random();
        let names = self.claim.names(check.minimum_age);
        // Requests only the claims for the age, where supported (OpenID Connect Core 5.5).
        let wanted: Map<String, Value> = names.into_iter().map(|name| (name, Value::Null)).collect();
        let wanted = json!({ "id_token": wanted, "userinfo": wanted }).to_string();
        let client = CoreClient::from_provider_metadata((*metadata).clone(), self.client_id.clone(), None)
            .set_redirect_uri(return_url);
        let (state, nonces) = (check.state.clone(), nonce.clone());
        let (url, _, _) = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || CsrfToken::new(state), move || nonces)
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(challenge)
            .add_extra_param("claims", wanted)
            .url();
        let pending =
            PendingCheck { nonce, verifier, return_url: check.return_url.clone(), minimum_age: check.minimum_age };
        let pending = serde_json::to_string(&pending).map_err(|_| invalid("our own pending check"))?;
        Ok(BegunAgeCheck { url: url.into(), pending: PendingAgeCheck(pending) })
    }

    async fn result(
        &self,
        pending: &PendingAgeCheck,
        returned: Option<&str>,
    ) -> Result<AgeCheckResult, AgeVerifierError> {
        let pending: PendingCheck = serde_json::from_str(&pending.0)
            .map_err(|_| AgeVerifierError::Mismatch("the check was begun with another provider"))?;
        let Some(returned) = returned.map(Returned::read) else { return Ok(AgeCheckResult::Pending) };
        if returned.issuer.is_some_and(|issuer| issuer != self.issuer.as_str()) {
            // RFC 9207.
            return Err(AgeVerifierError::Mismatch("the response is of another issuer"));
        }
        match (returned.error.as_deref(), returned.code) {
            (Some("access_denied"), _) => Ok(AgeCheckResult::Cancelled),
            (Some(_), _) => Err(AgeVerifierError::Mismatch("the provider reports an error")),
            (None, None) => Err(AgeVerifierError::Mismatch("there is no code")),
            (None, Some(code)) => {
                let metadata = self.metadata(false).await?;
                let Some(tokens) = self.exchange(&metadata, code, &pending).await? else {
                    return Ok(self.tells_no_age());
                };
                let id_token = tokens.id_token().ok_or_else(|| invalid("there is no ID token"))?;
                let access_token = tokens.access_token();
                let claims = self.verified(Arc::clone(&metadata), id_token, access_token, &pending.nonce).await?;
                let today = self.now().date_naive();
                let mut is = self.claim.is_old_enough(&claims, pending.minimum_age, today);
                if is.is_none()
                    && let Some(more) = self.userinfo(&metadata, access_token, claims.get("sub")).await?
                {
                    is = self.claim.is_old_enough(&more, pending.minimum_age, today);
                }
                Ok(match is {
                    Some(true) => AgeCheckResult::Passed,
                    Some(false) => AgeCheckResult::Failed { reason: "the minimum age is not reached" },
                    None => self.tells_no_age(),
                })
            }
        }
    }

    fn can_be_polled(&self) -> bool {
        false
    }
}

impl Returned {
    fn read(query: &str) -> Self {
        let mut returned = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let to = match &*name {
                "code" => &mut returned.code,
                "error" => &mut returned.error,
                "iss" => &mut returned.issuer,
                _ => continue,
            };
            *to = Some(value.into_owned());
        }
        returned
    }
}

/// Whether the token endpoint's response is valid apart from the claims about the user.
fn is_fine_without_user_claims(body: &[u8]) -> bool {
    let without = || {
        let mut response: Value = serde_json::from_slice(body).ok()?;
        let mut parts: Vec<String> = response.get("id_token")?.as_str()?.split('.').map(str::to_owned).collect();
        let payload = parts.get_mut(1)?;
        let mut claims: Map<String, Value> = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(&*payload).ok()?).ok()?;
        claims.retain(|name, _| PROTOCOL_CLAIMS.contains(&name.as_str()));
        *payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).ok()?);
        *response.get_mut("id_token")? = parts.join(".").into();
        serde_json::from_value::<CoreTokenResponse>(response).ok()
    };
    without().is_some()
}

/// Whether the provider supports what a check needs.
fn is_usable(metadata: &CoreProviderMetadata) -> Result<(), AgeVerifierError> {
    if !matches!(metadata.authorization_endpoint().url().scheme(), "http" | "https") {
        return Err(invalid("discovery: the authorization endpoint is not an http(s) URL"));
    }
    if metadata.token_endpoint().is_none() {
        return Err(invalid("discovery: it has no token endpoint"));
    }
    Ok(())
}

/// Client authentication at the token endpoint: by header, unless the provider accepts the secret only in the body.
fn auth_type(metadata: &CoreProviderMetadata) -> AuthType {
    let methods = metadata.token_endpoint_auth_methods_supported();
    let supports = |method| methods.is_none_or(|methods| methods.contains(&method));
    if !supports(CoreClientAuthMethod::ClientSecretBasic) && supports(CoreClientAuthMethod::ClientSecretPost) {
        AuthType::RequestBody
    } else {
        AuthType::BasicAuth
    }
}

/// Why an ID token is invalid, without text of the provider.
const fn fault(error: &ClaimsVerificationError) -> &'static str {
    match error {
        ClaimsVerificationError::Expired(_) => "the ID token has expired",
        ClaimsVerificationError::InvalidAudience(_) => "the ID token is for another client",
        ClaimsVerificationError::InvalidIssuer(_) => "the ID token is of another issuer",
        ClaimsVerificationError::InvalidNonce(_) => "the ID token is of another check",
        ClaimsVerificationError::SignatureVerification(_) => "the ID token's signature",
        _ => "the ID token",
    }
}

fn invalid(what: &str) -> AgeVerifierError {
    AgeVerifierError::Invalid(what.to_owned())
}
