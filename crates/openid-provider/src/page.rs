//! The pages: consent, log-out and errors, in the layout of `crates/pages`, which serves the style sheet.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};
use http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use usher_engine::ports::StoreError;
use usher_protocol::keys::{npub, parse_public_key};

use crate::authorization_request::{AuthorizationRequest, OAuthError};
use crate::client::Client;
use crate::logins::LoginError;
use crate::parameters::Parameters;
use crate::provider::Provider;
use crate::records::User;
use crate::texts::{self, Message, Texts};

/// The page loads from this service alone, sends forms to this service alone, and cannot be framed: a site that shows it in a
/// frame could make users agree without knowing. `data:` is for the empty icon.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

const OVER: OAuthError = OAuthError::new("access_denied", "the login is over");

/// What every response says that a browser shows or follows.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    // Addresses contain codes and secrets: no other site may learn them.
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

#[derive(Debug)]
pub(crate) enum PageError {
    /// The request is wrong, and nobody is known to whom the browser could be led with an error.
    Request(RequestFault),
    /// The request is over, or never was. If it is known, the page leads on to its app.
    Ended(Option<Box<AuthorizationRequest>>),
    /// Another browser has begun it.
    OtherBrowser,
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestFault {
    Malformed,
    UnknownClient,
    WrongRedirectUri,
}

impl From<RequestFault> for PageError {
    fn from(fault: RequestFault) -> Self {
        Self::Request(fault)
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<LoginError> for PageError {
    fn from(error: LoginError) -> Self {
        Self::Unavailable(error.into())
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    action: &'a str,
    heading: &'a str,
    request: &'a str,
    learns: &'a [&'a str],
    account: &'a str,
    goes_to: &'a str,
}

#[derive(Template)]
#[template(path = "logout.html")]
struct LogoutPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    action: &'a str,
    question: &'a str,
    confirmation: &'a str,
    fields: &'a [(&'a str, &'a str)],
}

#[derive(Template)]
#[template(path = "leaving.html")]
struct LeavingPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    target: &'a str,
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    texts: &'a Texts,
    base: &'a str,
    heading: &'a str,
    message: &'a str,
    /// A way on: its text and its address.
    link: Option<(&'a str, &'a str)>,
}

impl Provider {
    pub(crate) fn error_page(&self, headers: &HeaderMap, error: PageError) -> Response {
        let texts = texts(headers);
        let (status, message) = match error {
            PageError::Request(RequestFault::Malformed) => (StatusCode::BAD_REQUEST, &texts.bad_request),
            PageError::Request(RequestFault::UnknownClient) => (StatusCode::BAD_REQUEST, &texts.unknown_client),
            PageError::Request(RequestFault::WrongRedirectUri) => (StatusCode::BAD_REQUEST, &texts.wrong_redirect_uri),
            PageError::Ended(None) => (StatusCode::NOT_FOUND, &texts.over),
            PageError::Ended(Some(request)) => return self.over_page(texts, &request),
            PageError::OtherBrowser => (StatusCode::FORBIDDEN, &texts.other_browser),
            PageError::Unavailable(error) => {
                tracing::error!(error = &*error as &dyn std::error::Error, "an OpenID Connect login could not go on");
                (StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable)
            }
        };
        self.message_page(status, texts, message)
    }

    /// Says that the request is over, and leads on to the app: whoever goes back in the browser comes here.
    fn over_page(&self, texts: &Texts, request: &AuthorizationRequest) -> Response {
        // An app's own scheme has no pages: such an app gets a response to its request, as it expects one.
        let address = match url::Url::parse(&request.redirect_uri) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => format!("{}/", url.origin().ascii_serialization()),
            _ => self.address_with_error(request, OVER),
        };
        let name = self.clients.get(&request.client_id).map_or(request.client_id.as_str(), |client| &client.name);
        let link = texts.go_to.replace("{client}", name);
        let Message { heading, message } = texts.over;
        let page = MessagePage { texts, base: &self.base, heading, message, link: Some((&link, &address)) };
        render(StatusCode::NOT_FOUND, &page)
    }

    pub(crate) fn logged_out_page(&self, headers: &HeaderMap) -> Response {
        let texts = texts(headers);
        self.message_page(StatusCode::OK, texts, &texts.logged_out)
    }

    pub(crate) fn consent_page(
        &self,
        headers: &HeaderMap,
        secret: &str,
        request: &AuthorizationRequest,
        user: &User,
    ) -> Response {
        let texts = texts(headers);
        // A client that is not configured any more gets nothing anyway: its code is worth nothing.
        let client = self.clients.get(&request.client_id).map_or(request.client_id.as_str(), |client| &client.name);
        let mut learns = vec![texts.learns_key];
        for (scope, text) in [
            ("profile", texts.learns_profile),
            ("email", texts.learns_email),
            ("offline_access", texts.stays_logged_in),
        ] {
            let is_asked = request.scopes.split(' ').any(|asked| asked == scope);
            learns.extend((is_asked && (scope != "email" || self.options.email_domain.is_some())).then_some(text));
        }
        let goes_to = url::Url::parse(&request.redirect_uri).map(|url| match url.host_str() {
            Some(host) if matches!(url.scheme(), "http" | "https") => host.to_owned(),
            _ => url.scheme().to_owned(),
        });
        let account = parse_public_key(&user.subject).map_or_else(|_| user.subject.clone(), |key| npub(&key));
        render(
            StatusCode::OK,
            &ConsentPage {
                texts,
                base: &self.base,
                action: &self.path("/oauth/consent"),
                heading: &texts.wants.replace("{client}", client),
                request: secret,
                learns: &learns,
                account: &texts.account.replace("{npub}", &account),
                goes_to: &texts.goes_to.replace("{host}", &goes_to.unwrap_or_default()),
            },
        )
    }

    pub(crate) fn logout_page(
        &self,
        headers: &HeaderMap,
        client: Option<&Client>,
        parameters: &Parameters,
        confirmation: &str,
    ) -> Response {
        let texts = texts(headers);
        let kept = ["client_id", "post_logout_redirect_uri", "state"];
        let fields: Vec<_> =
            kept.into_iter().filter_map(|name| Some((name, parameters.get(name).ok().flatten()?))).collect();
        let question = match client {
            Some(client) => texts.logout_question_by.replace("{client}", &client.name),
            None => texts.logout_question.to_owned(),
        };
        let action = self.path("/oauth/end-session");
        render(
            StatusCode::OK,
            &LogoutPage {
                texts,
                base: &self.base,
                action: &action,
                question: &question,
                confirmation,
                fields: &fields,
            },
        )
    }

    /// Leads on to a client after a form: browsers bind a redirect of a form by the page's `form-action`, also where the
    /// client redirects again, but not a link.
    pub(crate) fn leaving_page(&self, headers: &HeaderMap, target: &str) -> Response {
        render(StatusCode::OK, &LeavingPage { texts: texts(headers), base: &self.base, target })
    }

    fn message_page(&self, status: StatusCode, texts: &Texts, message: &Message) -> Response {
        let Message { heading, message } = *message;
        render(status, &MessagePage { texts, base: &self.base, heading, message, link: None })
    }
}

fn texts(headers: &HeaderMap) -> &'static Texts {
    texts::preferred(headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default())
}

fn render(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, HEADERS, Html(html)).into_response(),
        Err(error) => {
            // Writing to a string does not fail, and no template of ours does.
            tracing::error!(%error, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
