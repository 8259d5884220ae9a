//! The page of a payment: the invoice for any Lightning wallet. Paying it is the same operation as paying with the
//! user's Nostr wallet.
//!
//! Anybody with the address can see and pay the invoice, and nothing else.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::DateTime;
use http::StatusCode;
use url::Url;
use usher_engine::operations::PaymentProgress;
use usher_engine::ports::StoreError;
use usher_engine::{Engine, OperationOutcome, PaymentView, StreamId, UnixMillis};
use usher_page_layout::Frame;

use crate::amounts::{about_text, sats, shown_price};
use crate::keyed_page::{self, Address, Found, KeyedView, Page};
use crate::link;
use crate::page::{self, Tone, summary};
use crate::qr::Qr;
use crate::state::PagesState;
use crate::texts::{Message, PaymentStatusTexts, Texts};
use crate::visit::Visit;
use crate::waiting_page::Shown;

/// How often the page polls whether the invoice was created, for which there is no event.
const MAKING_EVERY: Duration = Duration::from_secs(1);

/// How often the page polls whether money has arrived after the end.
const LATE_EVERY: Duration = Duration::from_secs(30);

/// The same while a further invoice can be paid, for which there are no events before `paid`.
const RENEWED_EVERY: Duration = Duration::from_secs(2);

#[derive(Template)]
#[template(path = "payment.html")]
struct PaymentPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    /// The outcome.
    heading: &'a str,
    service: &'a str,
    /// The price in its currency, or in sats.
    amount: &'a str,
    /// The amount in sats, if the price has a currency.
    in_sats: Option<&'a str>,
    /// About how much sats are in a currency.
    about: Option<String>,
    description: &'a str,
    /// The beginning of a long description, so that it does not push the code off a phone's screen.
    summary: Option<String>,
    /// When it was paid, in UTC: the same text in each language.
    paid_at: Option<String>,
    /// The last part of the payment's stream.
    number: &'a str,
    status: &'a str,
    tone: Tone,
    is_over: bool,
    /// Whether the payer can request a further invoice.
    is_renewable: bool,
    /// The state in one word.
    state: &'a str,
    /// Whether the state may change.
    live: bool,
    /// Whether the page reloads by itself without JavaScript.
    reloads: bool,
    /// The invoice while it can be paid.
    invoice: Option<&'a str>,
    qr: Option<Qr>,
    seconds_left: u64,
    time_left: &'a str,
    /// Where the user may continue at the end.
    return_url: Option<&'a str>,
    /// Where the user may return before the end, and the link's text.
    cancel: Option<(String, String)>,
    /// Where the browser is redirected now.
    return_now: Option<&'a str>,
}

usher_protocol::words! {
    /// The progress of a payment, as the page shows it.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Status {
        Making = "making",
        Waiting = "waiting",
        Approved = "approved",
        Closing = "closing",
        Paid = "paid",
        Rejected = "rejected",
        Expired = "expired",
        Failed = "failed",
    }
}

impl Status {
    const fn of(view: &PaymentView) -> Self {
        match (view.progress, view.end) {
            (PaymentProgress::Making, _) => Self::Making,
            (PaymentProgress::Asking, _) if view.is_approved => Self::Approved,
            (PaymentProgress::Asking, _) => Self::Waiting,
            (PaymentProgress::Closing, _) => Self::Closing,
            (PaymentProgress::Paid, _) => Self::Paid,
            (PaymentProgress::Ended, Some(OperationOutcome::Rejected)) => Self::Rejected,
            (PaymentProgress::Ended, Some(OperationOutcome::Timeout)) => Self::Expired,
            (PaymentProgress::Ended, _) => Self::Failed,
        }
    }

    const fn text(self, texts: &PaymentStatusTexts) -> &'static str {
        match self {
            Self::Making => texts.making,
            Self::Waiting => texts.waiting,
            Self::Approved => texts.approved,
            Self::Closing => texts.closing,
            Self::Paid => texts.paid,
            Self::Rejected => texts.rejected,
            Self::Expired => texts.expired,
            Self::Failed => texts.failed,
        }
    }

    const fn is_over(self) -> bool {
        matches!(self, Self::Paid | Self::Rejected | Self::Expired | Self::Failed)
    }

    fn shown(self, is_renewed: bool) -> Shown {
        Shown {
            word: self.as_str().to_owned(),
            is_final: self == Self::Paid,
            check_after: match self {
                Self::Making => Some(MAKING_EVERY),
                Self::Waiting | Self::Closing if is_renewed => Some(RENEWED_EVERY),
                Self::Rejected | Self::Expired | Self::Failed => Some(LATE_EVERY),
                Self::Waiting | Self::Approved | Self::Closing | Self::Paid => None,
            },
        }
    }
}

impl KeyedView for PaymentView {
    const FOLDER: &'static str = "pay";

    async fn find(engine: &Engine, id: StreamId, secret: &str) -> Result<Option<Self>, StoreError> {
        engine.payments().page(id, secret).await
    }

    fn shown(&self) -> Shown {
        Status::of(self).shown(self.is_renewed)
    }

    fn not_found(texts: &Texts) -> &Message {
        &texts.payment.not_found
    }
}

/// `GET /pay/{stream_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let found = keyed_page::find::<PaymentView>(&pages, &visit, &id, &secret).await?;
    let _turn = pages.turn().await;
    Ok(show_payment(&visit, &found))
}

/// `POST /pay/{stream_id}/{secret}`: requests a further invoice after the last one has expired.
pub(crate) async fn renew(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let found = keyed_page::find::<PaymentView>(&pages, &visit, &id, &secret).await?;
    match pages.engine.payments().renew(found.id, &secret, visit.network).await {
        Ok(()) => Ok(page::see_other(&found.address)),
        Err(error) => Err(link::instead(&visit, found.id, &found.address, error)),
    }
}

fn show_payment(visit: &Visit, found: &Found<PaymentView>) -> Response {
    let Found { id, address, view } = found;
    let texts = visit.texts;
    let status = Status::of(view);
    let return_url = view.return_url.as_deref().filter(|_| status.is_over());
    let mark = texts.payment.decimal_mark;
    let in_sats = texts.payment.amount(sats(view.amount, mark));
    let price = view.price.as_ref().and_then(|price| shown_price(price, texts));
    let number = id.to_string();
    // Upper case: QR codes encode it more compactly, and schemes and invoices ignore case.
    let qr = view.invoice.as_ref().and_then(|invoice| Qr::of(&format!("lightning:{}", invoice.to_uppercase())));
    visit.frame.render(
        StatusCode::OK,
        &PaymentPage {
            frame: &visit.frame,
            texts,
            address,
            title: status.text(&texts.payment.titles),
            heading: status.text(&texts.payment.headings),
            service: visit.service(),
            amount: price.as_deref().unwrap_or(&in_sats),
            in_sats: price.is_some().then_some(&in_sats),
            about: view.about.as_ref().and_then(|about| about_text(about, texts)),
            description: &view.description,
            summary: summary(&view.description),
            paid_at: view.paid_at.and_then(date),
            number: number.rsplit('-').next().unwrap_or_default(),
            is_over: status.is_over(),
            is_renewable: view.is_renewable,
            status: match (view.is_renewable, view.has_renewal_failed) {
                (true, true) => texts.payment.renewal_failed,
                (true, false) => texts.payment.renewable,
                (false, _) => status.text(&texts.payment.status),
            },
            tone: match status {
                Status::Paid => Tone::Passed,
                Status::Rejected | Status::Expired | Status::Failed => Tone::Failed,
                Status::Making | Status::Waiting | Status::Approved | Status::Closing => Tone::Waiting,
            },
            state: status.as_str(),
            live: status != Status::Paid,
            reloads: !status.is_over(),
            invoice: view.invoice.as_deref(),
            qr,
            seconds_left: view.time_left.as_secs(),
            time_left: &texts.time_left(view.time_left),
            return_url,
            cancel: view.return_url.as_deref().filter(|_| !status.is_over()).map(|url| {
                let host = || Url::parse(url).ok()?.host_str().map(str::to_owned);
                let app = visit.frame.service_name().map(str::to_owned).or_else(host).unwrap_or_default();
                // The URL has a query, with `stream_id`.
                (format!("{url}&canceled=1"), texts.payment.cancel(app))
            }),
            // Only after success: otherwise the user reads here why, and whether money has arrived all the same.
            return_now: return_url.filter(|_| status == Status::Paid && view.returns),
        },
    )
}

pub(crate) fn date(at: UnixMillis) -> Option<String> {
    let at = DateTime::from_timestamp(i64::try_from(at.secs()).ok()?, 0)?;
    Some(at.format("%Y-%m-%d %H:%M UTC").to_string())
}
