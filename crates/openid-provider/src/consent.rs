//! `/oauth/consent`: the user consents, once per client, to what it learns.
//!
//! Only the browser that has logged in can consent: the request's secret is in the address, the session's in the
//! cookie.

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use usher_engine::ports::{OpenIdConsent, OpenIdRecordId};

use crate::authorization_request::{AuthorizationRequest, OAuthError, Outcome};
use crate::page::{PageError, RequestFault, Visit};
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::records::{Content, Found, User};
use crate::storage_bounds;

const DENIED: OAuthError = OAuthError::new("access_denied", "the user has not agreed");

struct Question {
    id: OpenIdRecordId,
    visitor: String,
    request: AuthorizationRequest,
    user: User,
}

/// `GET /oauth/consent`
pub(crate) async fn show(
    State(provider): State<SharedProvider>,
    RawQuery(query): RawQuery,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let secret = parameters.get("request").ok().flatten().unwrap_or_default();
    match provider.question(secret, &headers).await {
        Ok(Question { request, user, .. }) => provider.consent_page(&visit, secret, &request, &user),
        Err(error) => provider.error_page(&visit, error),
    }
}

/// `POST /oauth/consent`
pub(crate) async fn decide(
    State(provider): State<SharedProvider>,
    visit: Visit,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(parameters) = Parameters::form(&headers, &body) else {
        return provider.error_page(&visit, RequestFault::Malformed.into());
    };
    if matches!(parameters.get("decision"), Ok(Some("other"))) {
        let again = provider.with_another_account(&visit, &parameters, &headers).await;
        return again.unwrap_or_else(|error| provider.error_page(&visit, error));
    }
    let decided = provider.decided(&visit, &parameters, &headers).await;
    decided.unwrap_or_else(|error| provider.error_page(&visit, error))
}

impl Provider {
    async fn question(&self, secret: &str, headers: &HeaderMap) -> Result<Question, PageError> {
        let Found { id, visitor, content, used, expired, .. } =
            self.find(secret).await?.ok_or(PageError::Ended(None))?;
        let Content::Consent { request, session, user } = content else { return Err(PageError::Ended(None)) };
        if used || expired {
            return Err(PageError::Ended(Some(Box::new(request))));
        }
        match self.session(headers).await? {
            Some(current) if hex::encode(current.id.0) == session => Ok(Question { id, visitor, request, user }),
            _ => Err(PageError::OtherBrowser),
        }
    }

    /// Ends the browser's session and restarts the login.
    async fn with_another_account(
        &self,
        visit: &Visit,
        parameters: &Parameters,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let secret = parameters.get("request").ok().flatten().unwrap_or_default();
        let Question { id, request, .. } = self.question(secret, headers).await?;
        let client = self.clients.get(&request.client_id).ok_or(RequestFault::UnknownClient)?;
        self.consume(id, Vec::new(), None).await?;
        if let Some(session) = self.session(headers).await? {
            self.store.drop_openid_records(vec![session.id]).await?;
        }
        let mut response = self.begin_login(visit, &client, request, None, headers).await?;
        self.clear_session(&mut response);
        Ok(response)
    }

    async fn decided(
        &self,
        visit: &Visit,
        parameters: &Parameters,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let secret = parameters.get("request").ok().flatten().unwrap_or_default();
        let Question { id, visitor, request, user } = self.question(secret, headers).await?;
        match parameters.get("decision").ok().flatten() {
            Some("allow") => {
                let consent = OpenIdConsent {
                    client_id: request.client_id.clone(),
                    subject: user.subject.clone(),
                    scopes: request.scopes.clone(),
                    at: self.clock.now(),
                };
                let (code, record) = self.new_code(&request, user, &visitor);
                self.consume(id, vec![record], Some(storage_bounds::bounded(consent, &visitor))).await?;
                Ok(self.respond_to_form(visit, &request, &Outcome::Code(code.expose())))
            }
            Some("deny") => {
                self.consume(id, Vec::new(), None).await?;
                Ok(self.respond_to_form(visit, &request, &Outcome::Error(DENIED)))
            }
            _ => Err(RequestFault::Malformed.into()),
        }
    }
}
