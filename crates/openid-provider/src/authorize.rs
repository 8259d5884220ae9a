//! `/oauth/authorize`: checks a request and redirects the browser to the login, the consent page, or the client.
//!
//! Until the client and its redirect URI are verified, errors are pages: a redirect would be an open redirect.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use usher_engine::ports::{
    NewOpenIdConsent, OpenIdConsent, OpenIdRecord, OpenIdRecordId, OpenIdStep, OpenIdStepResult, StoreError,
};

use crate::authorization_request::{AuthorizationRequest, Interaction, OAuthError, Outcome};
use crate::browser_session::Session;
use crate::client::Client;
use crate::logins::{BeginLogin, LoginError};
use crate::page::{PageError, RequestFault, Visit};
use crate::parameters::Parameters;
use crate::prefetch_guard;
use crate::provider::{Provider, SharedProvider};
use crate::records::{CODE_TTL, Content, Grant, INTERACTION_TTL, User};
use crate::redirect;
use crate::secret::{Secret, record_id};

const LOGIN_REQUIRED: OAuthError = OAuthError::new("login_required", "the user is not logged in");
const CONSENT_REQUIRED: OAuthError = OAuthError::new("consent_required", "the user has not agreed yet");
const UNAVAILABLE: OAuthError = OAuthError::new("temporarily_unavailable", "too many logins are open; retry later");

/// `GET /oauth/authorize`
pub(crate) async fn by_get(
    State(provider): State<SharedProvider>,
    RawQuery(query): RawQuery,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    // The semaphore is never closed.
    let turn = Arc::clone(&provider.beginning).acquire_owned().await.ok();
    // On its own task: if the browser disconnects, a login without its request would escape the storage bounds.
    let work = {
        let (provider, headers, visit) = (Arc::clone(&provider), headers.clone(), visit.clone());
        async move {
            let _turn = turn;
            provider.authorize(&visit, &parameters, &headers).await
        }
    };
    match provider.tasks.spawn(work).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => provider.error_page(&visit, error),
        Err(error) => provider.error_page(&visit, PageError::Unavailable(error.into())),
    }
}

/// `POST /oauth/authorize`. A cross-site form has no cookies (`SameSite=Lax`): it is redirected to a GET, which has
/// them.
pub(crate) async fn by_post(
    State(provider): State<SharedProvider>,
    visit: Visit,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match Parameters::form(&headers, &body) {
        Some(parameters) => redirect::to(&format!("{}?{}", provider.path("/oauth/authorize"), parameters.to_query())),
        None => provider.error_page(&visit, RequestFault::Malformed.into()),
    }
}

impl Provider {
    async fn authorize(
        &self,
        visit: &Visit,
        parameters: &Parameters,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let client = parameters.get("client_id").map_err(|_| RequestFault::Malformed)?;
        let client = &*client.and_then(|id| self.clients.get(id)).ok_or(RequestFault::UnknownClient)?;
        let redirect_uri = parameters.get("redirect_uri").map_err(|_| RequestFault::Malformed)?;
        let redirect_uri = redirect_uri.filter(|uri| client.may_redirect_to(uri) || self.is_free_to_lead_to(uri));
        let redirect_uri =
            redirect_uri.ok_or_else(|| RequestFault::WrongRedirectUri { app: Some(client.name.clone()) })?;

        let unread = AuthorizationRequest::empty(client, redirect_uri, parameters);
        let (request, interaction) = match unread.clone().read(client, parameters) {
            Ok(read) => read,
            Err(error) => return Ok(self.respond(visit, &unread, &Outcome::Error(error))),
        };
        let expected = match &interaction.id_token_hint {
            None => None,
            Some(hint) => match self.read_hint(hint) {
                Some(hint) => Some(hint.subject),
                None => {
                    let error = OAuthError::invalid_request("id_token_hint is no ID token of this service");
                    return Ok(self.respond(visit, &request, &Outcome::Error(error)));
                }
            },
        };
        let session = self.session(headers).await?.filter(|session| {
            !interaction.login
                && expected.as_ref().is_none_or(|expected| *expected == session.user.subject)
                && is_recent(&interaction, &session.user, self.now_secs())
        });
        match session {
            Some(session) => {
                let visitor = self.options.pseudonym_key.pseudonym(visit.network);
                self.with_session(visit, request, &interaction, session, &visitor).await
            }
            None if interaction.silent || !prefetch_guard::is_seen(headers) => {
                Ok(self.respond(visit, &request, &Outcome::Error(LOGIN_REQUIRED)))
            }
            None => self.begin_login(visit, client, request, expected, headers).await,
        }
    }

    async fn with_session(
        &self,
        visit: &Visit,
        request: AuthorizationRequest,
        interaction: &Interaction,
        session: Session,
        visitor: &str,
    ) -> Result<Response, PageError> {
        if request.ask_consent || !self.has_agreed(&request, &session.user).await? {
            if interaction.silent {
                return Ok(self.respond(visit, &request, &Outcome::Error(CONSENT_REQUIRED)));
            }
            let secret = self.new_secret();
            let session_id = hex::encode(session.id.0);
            let content = Content::Consent { request: request.clone(), session: session_id, user: session.user };
            return Ok(if self.add(self.record(&secret, &content, INTERACTION_TTL, visitor)).await? {
                redirect::to(&self.consent_address(secret.expose()))
            } else {
                self.respond(visit, &request, &Outcome::Error(UNAVAILABLE))
            });
        }
        let (code, record) = self.new_code(&request, session.user, visitor);
        let has_room = self.add(record).await?;
        let outcome = if has_room { Outcome::Code(code.expose()) } else { Outcome::Error(UNAVAILABLE) };
        Ok(self.respond(visit, &request, &outcome))
    }

    pub(crate) async fn begin_login(
        &self,
        visit: &Visit,
        client: &Client,
        request: AuthorizationRequest,
        expected: Option<String>,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let secret = self.new_secret();
        let continue_url = format!("{}/oauth/login-return?request={}", self.options.issuer, secret.expose());
        let login = BeginLogin { client_name: client.name.clone(), continue_url, network: visit.network };
        let begun = match self.logins.begin(login, headers).await {
            Ok(begun) => begun,
            Err(LoginError::Busy) => return Ok(self.respond(visit, &request, &Outcome::Error(UNAVAILABLE))),
            Err(error) => return Err(error.into()),
        };
        let replaced = begun.replaced.iter().filter_map(|address| request_in(address));
        let replaced: Vec<_> = replaced.map(|secret| record_id(&secret)).collect();
        if !replaced.is_empty() {
            self.store.drop_openid_records(replaced).await?;
        }
        let (login_id, page_url) = (begun.login_id.clone(), begun.page_url.clone());
        let content = Content::Login { request: request.clone(), login_id, page_url, expected };
        let record =
            self.record(&secret, &content, INTERACTION_TTL, &self.options.pseudonym_key.pseudonym(visit.network));
        if !self.add(record).await? {
            self.forget_logins(vec![begun.login_id]).await;
            return Ok(self.respond(visit, &request, &Outcome::Error(UNAVAILABLE)));
        }
        let mut response = redirect::to(&begun.page_url);
        for cookie in begun.set_cookies.into_iter().filter_map(|cookie| HeaderValue::try_from(cookie).ok()) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// Whether the user has consented to everything the client requests.
    pub(crate) async fn has_agreed(&self, request: &AuthorizationRequest, user: &User) -> Result<bool, StoreError> {
        let consent = self.store.openid_consent(&request.client_id, &user.subject).await?;
        Ok(consent.is_some_and(|OpenIdConsent { scopes, .. }| {
            request.scopes.split(' ').all(|asked| scopes.split(' ').any(|agreed| agreed == asked))
        }))
    }

    pub(crate) fn new_code(&self, request: &AuthorizationRequest, user: User, visitor: &str) -> (Secret, OpenIdRecord) {
        let secret = self.new_secret();
        let grant = Grant { client_id: request.client_id.clone(), user, scopes: request.scopes.clone() };
        let content = Content::Code { grant, request: request.clone() };
        let mut record = self.record(&secret, &content, CODE_TTL, visitor);
        record.grant = Some(self.new_grant_id());
        (secret, record)
    }

    pub(crate) async fn consume(
        &self,
        id: OpenIdRecordId,
        add: Vec<OpenIdRecord>,
        consent: Option<NewOpenIdConsent>,
    ) -> Result<(), PageError> {
        match self.use_once(id, Duration::ZERO, add, consent).await? {
            OpenIdStepResult::Done => Ok(()),
            OpenIdStepResult::Replayed | OpenIdStepResult::UsedJustNow | OpenIdStepResult::Unknown => {
                Err(PageError::Ended(None))
            }
        }
    }

    pub(crate) async fn use_once(
        &self,
        id: OpenIdRecordId,
        grace: Duration,
        add: Vec<OpenIdRecord>,
        consent: Option<NewOpenIdConsent>,
    ) -> Result<OpenIdStepResult, StoreError> {
        for record in &add {
            let coming = add.iter().filter(|other| other.quota == record.quota).map(|other| other.bytes).sum();
            // The result is ignored: without room, the new record replaces the one that is used here.
            self.make_room(record.quota, &record.visitor, coming).await?;
        }
        self.store.use_openid_record(OpenIdStep { id, at: self.clock.now(), grace, add, consent }).await
    }

    pub(crate) fn consent_address(&self, secret: &str) -> String {
        format!("{}?request={secret}", self.path("/oauth/consent"))
    }
}

/// Whether the user logged in within `max_age`.
fn is_recent(interaction: &Interaction, user: &User, now: u64) -> bool {
    interaction.max_age.is_none_or(|max_age| max_age > 0 && now.saturating_sub(user.auth_time) <= max_age)
}

/// The secret of the request to which a login page's end leads.
fn request_in(continue_url: &str) -> Option<String> {
    let url = url::Url::parse(continue_url).ok()?;
    url.query_pairs().find(|(name, _)| name == "request").map(|(_, secret)| secret.into_owned())
}
