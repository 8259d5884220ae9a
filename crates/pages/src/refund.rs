//! The page of a refund: the payer enters the invoice to be paid.
//!
//! Anybody with the address can claim the money, so the app gives it only to the payer.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use usher_engine::operations::RefundProgress;
use usher_engine::ports::{PayeeError, StoreError};
use usher_engine::{Engine, RefundInvoiceError, RefundInvoiceFault, RefundView, StreamId};
use usher_page_layout::Frame;

use crate::amounts::sats;
use crate::keyed_page::{self, Address, Found, KeyedView, Page};
use crate::login_page_request::other_type;
use crate::page::{self, Tone};
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;
use crate::waiting_page::Shown;

/// How often the page polls whether a payment with an unknown outcome succeeded after all.
const LATE_EVERY: Duration = Duration::from_secs(30);

#[derive(Template)]
#[template(path = "refund.html")]
struct RefundPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    heading: &'a str,
    asks: &'a str,
    amount: &'a str,
    description: &'a str,
    how: &'a str,
    /// The refund's identifier.
    number: &'a str,
    status: &'a str,
    tone: Tone,
    /// The state in one word.
    state: &'a str,
    asks_for_invoice: bool,
    /// The payer's input and its error.
    typed: &'a str,
    refused: Option<&'a str>,
    /// Whether the state may change.
    live: bool,
    /// Whether the page reloads by itself without JavaScript; false while the payer types.
    reloads: bool,
    seconds_left: u64,
    time_left: &'a str,
    /// Always `None`.
    return_now: Option<&'a str>,
}

impl KeyedView for RefundView {
    const FOLDER: &'static str = "refund";

    async fn find(engine: &Engine, id: StreamId, secret: &str) -> Result<Option<Self>, StoreError> {
        engine.payments().refund_page(id, secret).await
    }

    fn shown(&self) -> Shown {
        Shown {
            word: self.progress.as_str().to_owned(),
            is_final: self.progress == RefundProgress::Paid,
            check_after: match self.progress {
                RefundProgress::NotPaid | RefundProgress::Unknown => Some(LATE_EVERY),
                _ => None,
            },
        }
    }

    fn not_found(texts: &Texts) -> &Message {
        &texts.refund.not_found
    }
}

/// `GET /refund/{stream_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let found = keyed_page::find::<RefundView>(&pages, &visit, &id, &secret).await?;
    let _turn = pages.turn().await;
    Ok(show_refund(StatusCode::OK, &visit, &found, "", None))
}

/// `POST /refund/{stream_id}/{secret}`: the form has the payer's invoice or Lightning address, as `payee`.
pub(crate) async fn take(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    visit: Visit,
    headers: HeaderMap,
    form: String,
) -> Page {
    if let Some(refused) = other_type(&headers, "application/x-www-form-urlencoded") {
        return Err(refused);
    }
    let found = keyed_page::find::<RefundView>(&pages, &visit, &id, &secret).await?;
    let typed = page::field(&form, "payee").unwrap_or_default();
    let texts = &visit.texts.refund;
    let amount = visit.texts.payment.amount(sats(found.view.amount, visit.texts.payment.decimal_mark));
    let refused = match pages.engine.payments().refund_to(found.id, &secret, &typed, visit.network).await {
        // The page shows the outcome; there may be an earlier invoice.
        Ok(()) | Err(RefundInvoiceError::Over) => return Ok(page::see_other(&found.address)),
        Err(RefundInvoiceError::NoPayee | RefundInvoiceError::NotFound) => texts.no_payee.to_owned(),
        Err(RefundInvoiceError::Busy) => texts.busy.to_owned(),
        Err(RefundInvoiceError::Address(PayeeError::Amount)) => texts.address_amount(amount),
        Err(RefundInvoiceError::Address(PayeeError::Refused)) => texts.address_refused.to_owned(),
        Err(RefundInvoiceError::Address(PayeeError::Unavailable | PayeeError::NoAddress)) => {
            texts.address_unavailable.to_owned()
        }
        Err(RefundInvoiceError::Fault(RefundInvoiceFault::Amount)) => texts.other_amount(amount),
        Err(RefundInvoiceError::Fault(RefundInvoiceFault::Network)) => texts.other_network.to_owned(),
        Err(RefundInvoiceError::Fault(RefundInvoiceFault::Expired)) => texts.has_expired.to_owned(),
        Err(RefundInvoiceError::Fault(RefundInvoiceFault::Paid)) => texts.is_paid.to_owned(),
        Err(RefundInvoiceError::Store(error)) => return Err(keyed_page::unavailable(&visit, found.id, &error)),
    };
    let _turn = pages.turn().await;
    Err(show_refund(StatusCode::UNPROCESSABLE_ENTITY, &visit, &found, &typed, Some(&refused)))
}

fn show_refund(
    status: StatusCode,
    visit: &Visit,
    found: &Found<RefundView>,
    typed: &str,
    refused: Option<&str>,
) -> Response {
    let Found { id, address, view } = found;
    let texts = visit.texts;
    let amount = texts.payment.amount(sats(view.amount, texts.payment.decimal_mark));
    let asks_for_invoice = view.progress == RefundProgress::Asking;
    let of = &texts.refund;
    let (heading, said, tone) = match view.progress {
        RefundProgress::AwaitingApproval => (of.heading, of.awaiting_approval, Tone::Waiting),
        RefundProgress::NotApproved => (of.not_approved_heading, of.not_approved, Tone::Failed),
        RefundProgress::Asking if view.asks_again => (of.heading, of.asks_again, Tone::Failed),
        RefundProgress::Asking if view.asks_wallet => (of.heading, of.waiting_wallet, Tone::Waiting),
        RefundProgress::Asking => (of.heading, of.waiting, Tone::Waiting),
        RefundProgress::Paying => (of.heading, of.paying, Tone::Waiting),
        RefundProgress::Paid => (of.paid_heading, of.paid, Tone::Passed),
        RefundProgress::NotPaid => (of.failed_heading, of.failed, Tone::Failed),
        RefundProgress::Unknown => (of.unknown_heading, of.unknown, Tone::Waiting),
        RefundProgress::Expired => (of.expired_heading, of.expired, Tone::Failed),
    };
    visit.frame.render(
        status,
        &RefundPage {
            frame: &visit.frame,
            texts,
            address,
            heading,
            asks: &of.asks(visit.service()),
            amount: &amount,
            description: &view.description,
            how: &of.how(&amount),
            number: &id.to_string(),
            status: said,
            tone,
            state: view.progress.as_str(),
            asks_for_invoice,
            typed,
            refused,
            live: !matches!(
                view.progress,
                RefundProgress::Paid | RefundProgress::Expired | RefundProgress::NotApproved
            ),
            reloads: view.progress == RefundProgress::Paying,
            seconds_left: view.time_left.as_secs(),
            time_left: &texts.time_left(view.time_left),
            return_now: None,
        },
    )
}
