//! `/`: the start page, with everything to try, the code that does the same, the events as they come, and the phone.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use secrecy::ExposeSecret as _;
use usher_page_layout::Frame;

use super::guides::GUIDES;
use super::page;
use super::state::Browser;
use super::trials::{Trial, Values, trials};

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    style: &'a str,
    frame: Frame,
    token: &'a str,
    base: &'a str,
    issuer: &'a str,
    trials: Vec<Shown>,
    guides: &'a [(&'a str, &'a str, &'a str)],
}

/// A trial as the page shows it.
struct Shown {
    trial: Trial,
    steps: String,
    snippets: [(&'static str, String); 3],
}

/// `GET /`
pub(super) async fn show(State(browser): State<Browser>, request: http::request::Parts) -> Response {
    let about = &browser.about;
    let values = Values {
        base: about.base.clone(),
        issuer: browser.site.url().to_owned(),
        user: browser.wallet.wallet().main_key().to_hex(),
        now: browser.wallet.wallet().now(),
        price: about.price / 1000,
        mint: about.mint.as_ref().map(|(url, token)| (url.clone(), token.expose_secret().to_owned())),
    };
    let shown = |trial: Trial| Shown { steps: trial.steps_json(), snippets: trial.snippets(&values), trial };
    let page = StartPage {
        style: &browser.look.style,
        frame: browser.site.frame(&request),
        token: about.token.expose_secret(),
        base: &values.base,
        issuer: &values.issuer,
        trials: trials(&values).into_iter().map(shown).collect(),
        guides: &GUIDES,
    };
    browser.look.render(StatusCode::OK, &page)
}

/// `GET /start.js`
pub(super) async fn script() -> Response {
    page::script(include_str!("../../../assets/start.js"))
}
