//! `/phone`: the test wallet as the screen of a phone.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{StatusCode, header};
use usher_sandbox::wallet::RequestContent;

use super::form::Form;
use super::page;
use super::phone_page::PhonePage;
use super::state::{Browser, wait};
use crate::dev::test_wallet::TestWallet;
use crate::wallet::Reply;

/// Requests that the phone shows.
const SHOWN: usize = 30;

const LOOK: Duration = Duration::from_millis(250);

/// After how many looks without news a comment is sent, so that the connection is known to be alive.
const KEEP_ALIVE: u32 = 60;

/// `GET /phone`
pub(super) async fn show(State(browser): State<Browser>) -> Response {
    let version = browser.wallet.version();
    let page = PhonePage::of(&browser.look.style, &browser.wallet, version, SHOWN).await;
    browser.look.render(StatusCode::OK, &page)
}

/// `GET /phone/phone.js`
pub(super) async fn script() -> Response {
    page::script(include_str!("../../../assets/phone.js"))
}

/// `GET /phone/events`: the version of what the phone shows, whenever it changes.
pub(super) async fn events(State(browser): State<Browser>) -> Response {
    let begun = (browser.wallet, None);
    let body = stream::unfold(begun, |(wallet, shown)| async move {
        let (text, version) = news(&wallet, shown).await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), (wallet, Some(version))))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// The next piece of the response; `None` when the wallet stops.
async fn news(wallet: &Arc<TestWallet>, shown: Option<u64>) -> Option<(String, u64)> {
    for _ in 0..KEEP_ALIVE {
        let version = wallet.version();
        if shown != Some(version) {
            return Some((format!("data: {version}\n\n"), version));
        }
        wallet.sleep(LOOK).await?;
    }
    Some((":\n\n".to_owned(), shown?))
}

/// `POST /phone/reply`: the reply to a request.
pub(super) async fn reply(State(browser): State<Browser>, body: String) -> Response {
    let form = Form::new(body);
    let wanted = form.field("request");
    let mut requests = browser.wallet.requests(SHOWN).into_iter().map(|(request, _)| request);
    let Some(request) = requests.find(|request| request.event.id.to_hex() == wanted) else { return back() };
    let reply = match form.field("reply").as_str() {
        "approve" => Reply::Approve { amount: None },
        "decline" => Reply::Decline(None),
        "fail" => Reply::Fail(None),
        "late" => {
            if let RequestContent::Payment(asked) = &request.content {
                let (invoice, over_at) = (asked.invoice.clone(), asked.expires_at);
                browser.wallet.act(|wallet| async move { wallet.pay_late(&invoice, over_at).await });
            }
            return back();
        }
        _ => return back(),
    };
    wait(browser.wallet.act(|wallet| async move { wallet.reply_shown(&request, &reply).await })).await;
    back()
}

/// `POST /phone/open`: the user scans a code, or pastes what it says: a handshake URL or an invoice.
pub(super) async fn open(State(browser): State<Browser>, body: String) -> Response {
    let code = Form::new(body).field("code");
    let invoice = code.strip_prefix("lightning:").unwrap_or(&code).to_ascii_lowercase();
    wait(browser.wallet.act(|wallet| async move {
        if invoice.starts_with("ln") { wallet.pay(&invoice).await } else { wallet.open(&code).await }
    }))
    .await;
    back()
}

/// `POST /phone/close`: closes a subscription.
pub(super) async fn close(State(browser): State<Browser>, body: String) -> Response {
    let id = Form::new(body).field("subscription");
    wait(browser.wallet.act(|wallet| async move { wallet.close(&id) })).await;
    back()
}

fn back() -> Response {
    page::see_other("/phone")
}
