//! `GET /oauth/login-return`: where the login page redirects at its end.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use usher_engine::ports::OpenIdRecordId;

use crate::authorization_request::{AuthorizationRequest, OAuthError, Outcome};
use crate::logins::LoginOutcome;
use crate::page::{PageError, Visit};
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::records::{self, Content, Found, INTERACTION_TTL, User};
use crate::redirect;

const DECLINED: OAuthError = OAuthError::new("access_denied", "the user has declined the login");
const TIMED_OUT: OAuthError = OAuthError::new("access_denied", "the login was not completed in time");

/// OpenID Connect Core 1.0 section 3.1.2.1, `id_token_hint`.
const OTHER_USER: OAuthError = OAuthError::new("login_required", "another user has logged in than id_token_hint names");

pub(crate) async fn show(
    State(provider): State<SharedProvider>,
    RawQuery(query): RawQuery,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let secret = parameters.get("request").ok().flatten().unwrap_or_default();
    match provider.end_login(&visit, secret, &headers).await {
        Ok(response) => response,
        Err(error) => provider.error_page(&visit, error),
    }
}

impl Provider {
    async fn end_login(&self, visit: &Visit, secret: &str, headers: &HeaderMap) -> Result<Response, PageError> {
        let Some(Found { id, visitor, content, used, expired, .. }) = self.find(secret).await? else {
            return Err(PageError::Ended(None));
        };
        let Content::Login { request, login_id, page_url, expected: wanted } = content else {
            return Err(PageError::Ended(None));
        };
        if used || expired {
            return Err(PageError::Ended(Some(Box::new(request))));
        }
        let response = match self.logins.outcome(&login_id, headers).await? {
            LoginOutcome::OtherBrowser => return Err(PageError::OtherBrowser),
            LoginOutcome::Pending => return Ok(redirect::to(&page_url)),
            LoginOutcome::Declined => self.refuse(visit, id, &request, DECLINED).await?,
            LoginOutcome::TimedOut => self.refuse(visit, id, &request, TIMED_OUT).await?,
            LoginOutcome::Approved { main_key, method, at } => {
                let user = User { subject: main_key.to_hex(), method, auth_time: records::secs(at) };
                if wanted.is_some_and(|wanted| wanted != user.subject) {
                    self.refuse(visit, id, &request, OTHER_USER).await?
                } else {
                    self.logged_in(visit, id, request, user, &visitor).await?
                }
            }
        };
        self.forget_logins(vec![login_id]).await;
        Ok(response)
    }

    async fn refuse(
        &self,
        visit: &Visit,
        id: OpenIdRecordId,
        request: &AuthorizationRequest,
        error: OAuthError,
    ) -> Result<Response, PageError> {
        self.consume(id, Vec::new(), None).await?;
        Ok(self.respond(visit, request, &Outcome::Error(error)))
    }

    async fn logged_in(
        &self,
        visit: &Visit,
        id: OpenIdRecordId,
        request: AuthorizationRequest,
        user: User,
        visitor: &str,
    ) -> Result<Response, PageError> {
        let session = self.new_secret();
        let session_record = self.new_session(&session, &user, visitor);
        let mut response = if !request.ask_consent && self.has_agreed(&request, &user).await? {
            let (code, record) = self.new_code(&request, user, visitor);
            self.consume(id, vec![session_record, record], None).await?;
            self.respond(visit, &request, &Outcome::Code(code.expose()))
        } else {
            let secret = self.new_secret();
            let content = Content::Consent { request, session: hex::encode(session.id().0), user };
            let record = self.record(&secret, &content, INTERACTION_TTL, visitor);
            self.consume(id, vec![session_record, record], None).await?;
            redirect::to(&self.consent_address(secret.expose()))
        };
        self.set_session(&mut response, &session);
        Ok(response)
    }
}
