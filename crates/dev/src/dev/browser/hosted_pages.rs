//! What the buttons of the hosted pages do in test mode: the test wallet acts as if its user had scanned the page's code.
//!
//! Each is below a page's address, which nobody else knows, and leads back to the page.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{OriginalUri, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::{HeaderMap, StatusCode};
use usher_engine::operations::{AgeDecision, LinkAmount, PaymentProgress};
use usher_engine::{ClientNetwork, LinkPaymentStarted, OpenedLogin, PaymentView, Requester, StreamId};
use usher_page_layout::cookie;
use usher_pages::{login_cookie_name, typed_amount};
use usher_sandbox::lightning::InvoiceTerms;

use super::form::Form;
use super::page;
use super::state::{Browser, wait};
use crate::wallet::Reply;

/// How often to look whether an invoice was created.
const LOOK: Duration = Duration::from_millis(50);

/// A page's id and secret.
type Address = Path<(StreamId, String)>;

/// The request of another site's page. Browsers name its site only where they trust the connection; elsewhere the
/// address, which other sites do not know, protects.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin")
}

fn refused() -> Response {
    (StatusCode::FORBIDDEN, "only the page itself can send this form").into_response()
}

/// Does what `action` says, unless another site asks, and leads back to the page above.
async fn back_after(address: OriginalUri, headers: &HeaderMap, action: impl AsyncFnOnce()) -> Response {
    if is_of_other_site(headers) {
        return refused();
    }
    action().await;
    page::see_other(page_above(&address))
}

fn page_above(address: &OriginalUri) -> &str {
    address.path().trim_end_matches("/test-wallet")
}

/// A Lightning payment that failed without an effect.
#[derive(Template)]
#[template(path = "note.html")]
struct NotPaid<'a> {
    style: &'a str,
    back: &'a str,
}

fn reply(form: &Form) -> Reply {
    match form.field("reply").as_str() {
        "approve" => Reply::Approve { amount: None },
        "fail" => Reply::Fail(None),
        _ => Reply::Decline(None),
    }
}

/// `POST /login/{stream_id}/{secret}/test-wallet`
pub(super) async fn log_in(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
    body: String,
) -> Response {
    back_after(address, &headers, async || {
        let cookie = cookie(&headers, &login_cookie_name(browser.site.url(), id)).unwrap_or_default();
        let own = cookie.split('.').next();
        let opened = browser.engine.logins().open(id, &secret, own, false).await;
        let Ok(OpenedLogin::Page { view, .. }) = opened else { return };
        let reply = reply(&Form::new(body));
        wait(browser.wallet.act(|wallet| async move { wallet.log_in(&view.wallet_url, &reply).await })).await;
    })
    .await
}

/// `POST /pay/{stream_id}/{secret}/test-wallet`. If the service has asked the test user, too, that request is answered.
pub(super) async fn pay(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let form = Form::new(body);
    let view = browser.engine.payments().page(id, &secret).await.ok().flatten();
    let invoice = view.as_ref().and_then(|view| view.invoice.clone());
    if form.field("reply") == "fail"
        && invoice.as_ref().is_some_and(|invoice| browser.wallet.requests_for(invoice).is_none())
    {
        let page = NotPaid { style: &browser.look.style, back: page_above(&address) };
        return browser.look.render(StatusCode::OK, &page);
    }
    back_after(address, &headers, async || {
        let (Some(view), Some(invoice)) = (view, invoice) else { return };
        if form.field("reply") == "late" {
            // Rounded up.
            let left = view.time_left.as_secs().saturating_add(1);
            let over_at = browser.wallet.wallet().now().saturating_add(left);
            browser.wallet.act(|wallet| async move { wallet.pay_late(&invoice, over_at).await });
            return;
        }
        let reply = reply(&form);
        wait(browser.wallet.act(|wallet| async move {
            match wallet.requests_for(&invoice) {
                Some(request) => wallet.reply_shown(&request, &reply).await,
                None => wallet.pay(&invoice).await,
            }
        }))
        .await;
    })
    .await
}

/// `POST /link/{stream_id}/{secret}/test-wallet`: leads to the page of a payment that the wallet pays. What is refused, the
/// page of the link says.
pub(super) async fn pay_at_link(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
    body: String,
) -> Response {
    if is_of_other_site(&headers) {
        return refused();
    }
    let above = page_above(&address);
    let started = start_at_link(&browser, id, &secret, &Form::new(body)).await;
    let (Some(started), Some((base, _))) = (started, above.split_once("/link/")) else {
        return Redirect::temporary(above).into_response();
    };
    let page = format!("{base}/pay/{}/{}", started.payment, started.page_secret);
    let engine = Arc::clone(&browser.engine);
    wait(browser.wallet.act(|wallet| async move {
        loop {
            match engine.payments().page(started.payment, &started.page_secret).await {
                Ok(Some(PaymentView { invoice: Some(invoice), .. })) => return wallet.pay(&invoice).await,
                Ok(Some(PaymentView { progress: PaymentProgress::Making, .. })) => wallet.sleep(LOOK).await,
                _ => return "Not paid: there is no invoice.".to_owned(),
            };
        }
    }))
    .await;
    page::see_other(&page)
}

async fn start_at_link(browser: &Browser, id: StreamId, secret: &str, form: &Form) -> Option<LinkPaymentStarted> {
    let links = browser.engine.payment_links();
    let view = links.page(id, secret).await.ok()??;
    let amount = match view.amount {
        LinkAmount::Fixed { .. } => None,
        LinkAmount::Chosen { .. } => Some(typed_amount(&view, &form.field("amount"))?),
    };
    links.pay(id, secret, amount, ClientNetwork::Loopback).await.ok()
}

/// `POST /refund/{stream_id}/{secret}/test-wallet`: the test wallet makes the invoice.
pub(super) async fn refund(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
) -> Response {
    back_after(address, &headers, async || {
        let Ok(Some(view)) = browser.engine.payments().refund_page(id, &secret).await else { return };
        let Some(source) = browser.wallet.wallet().payment_source() else { return };
        let Ok(invoice) = source.make_invoice(&InvoiceTerms::of(view.amount)).await else { return };
        // The page shows the outcome.
        let payments = browser.engine.payments();
        let _ = payments.refund_to(id, &secret, invoice.as_str(), ClientNetwork::Loopback).await;
    })
    .await
}

/// `POST /handshake/{stream_id}/{secret}/test-wallet`
pub(super) async fn shake_hands(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
) -> Response {
    back_after(address, &headers, async || {
        let Ok(Some(view)) = browser.engine.handshakes().page(id, &secret).await else { return };
        wait(browser.wallet.act(|wallet| async move { wallet.open(&view.url).await })).await;
    })
    .await
}

/// `POST /verify/{session_id}/{secret}/test-wallet`: decides as the staff would.
pub(super) async fn decide(
    State(browser): State<Browser>,
    Path((id, secret)): Address,
    address: OriginalUri,
    headers: HeaderMap,
    body: String,
) -> Response {
    back_after(address, &headers, async || {
        let Ok(Some(_)) = browser.engine.verification().session(id, &secret).await else { return };
        let decision = match reply(&Form::new(body)) {
            Reply::Approve { .. } => AgeDecision::Approved,
            _ => AgeDecision::Rejected { reason: None },
        };
        // Somebody else may have decided: the page shows it.
        let _ = browser.engine.verification().decide(&Requester::Service, id, &decision, None).await;
    })
    .await
}
