//! `/dev/console`: the console, logged in as the test user, who is an administrator.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::SET_COOKIE;
use usher_engine::access::Role;

use super::page;
use super::state::Browser;

/// The operator's name.
const NAME: &str = "Developer";

/// `GET /dev/console`. Where the console is at another address than the start page, it asks for a login.
pub(super) async fn log_in(State(browser): State<Browser>) -> Response {
    let (operators, user) = (browser.keys.operators(), browser.wallet.wallet().main_key());
    let url = browser.site.url();
    let mut response = page::see_other(&format!("{url}/console")).into_response();
    if operators.find(&user).is_none() {
        // Of another test user of this data directory.
        for (former, _) in operators.list().into_iter().filter(|(operator, _)| operator.name == NAME) {
            let _ = operators.remove(&former.key).await;
        }
        if let Ok((secret, _)) = operators.invite(NAME, Role::Admin).await {
            let _ = operators.accept(&secret, user).await;
        }
    }
    if operators.find(&user).is_some() {
        let cookie = usher_pages::session_cookie(url, Some(&operators.sessions().begin(user)));
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    response
}
