//! Payment links for wallets: LNURL-pay (LUD-06, with success actions of LUD-09 and comments of LUD-12), and the service's Lightning
//! address (LUD-16).
//!
//! Responses allow any origin, because wallets run in browsers. Errors have the HTTP status 200, as LUD-06 requires.

use std::sync::Once;

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL};
use serde_json::{Value, json};
use usher_engine::{ClientNetwork, LinkError, LnurlOffer, MAX_COMMENT_CHARS, StreamId};

use crate::keyed_page::Address;
use crate::state::PagesState;

/// `GET /lnurlp/{stream_id}/{secret}`
pub(crate) async fn offer(State(pages): State<PagesState>, Path((id, secret)): Address) -> Response {
    let Ok(id) = id.parse::<StreamId>() else { return refused(&LinkError::NotFound) };
    let identifier = pages.identifier();
    respond_offer(pages.engine.payment_links().offer(id, &secret, identifier.as_deref()).await)
}

/// `GET /.well-known/lnurlp/{name}`. For other names, it reveals only that they are not this one.
pub(crate) async fn address(State(pages): State<PagesState>, Path(name): Path<String>) -> Response {
    // A tag is the payer's own (LUD-16). Phone keyboards start with a capital letter.
    let name = name.split_once('+').map_or(name.as_str(), |(name, _)| name);
    let is_name = |of: &str| of.split('@').next().is_some_and(|own| own.eq_ignore_ascii_case(name));
    match pages.identifier().filter(|identifier| is_name(identifier)) {
        Some(identifier) => respond_offer(pages.engine.payment_links().address_offer(&identifier).await),
        None => error("there is no such Lightning address"),
    }
}

/// `GET /lnurlp/{stream_id}/{secret}/invoice?amount=<millisats>&comment=<text>`
pub(crate) async fn invoice(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    network: Option<Extension<ClientNetwork>>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(id) = id.parse::<StreamId>() else { return refused(&LinkError::NotFound) };
    let query = query.unwrap_or_default();
    let value = |wanted: &str| {
        let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == wanted);
        // A repeated parameter is ambiguous.
        values.next().filter(|_| values.next().is_none()).map(|(_, value)| value.into_owned())
    };
    let Some(amount) = value("amount").as_deref().and_then(whole_number) else {
        return error("amount must be a number of millisats");
    };
    let network = network.map_or(ClientNetwork::Loopback, |Extension(network)| network);
    let (comment, identifier) = (value("comment"), pages.identifier());
    let links = pages.engine.payment_links();
    match links.invoice(id, &secret, amount, comment.as_deref(), identifier.as_deref(), network).await {
        Ok(made) => {
            if made.invoice.description_hash().is_none() {
                warn_of_wallet();
            }
            respond(json!({
                "pr": made.invoice.as_str(),
                "routes": [],
                "disposable": false,
                "successAction": { "tag": "url", "description": "Your receipt", "url": made.page_url },
            }))
        }
        Err(error) => refused(&error),
    }
}

impl PagesState {
    /// The service's Lightning address, if it has one.
    fn identifier(&self) -> Option<String> {
        let directory = self.directory.as_ref().filter(|_| self.has_lightning_address)?;
        Some(directory.own_profile()?.nip05?.as_str().to_owned())
    }
}

/// Only digits: `parse` also accepts a leading `+`.
fn whole_number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn respond_offer(offer: Result<LnurlOffer, LinkError>) -> Response {
    match offer {
        Ok(LnurlOffer { least, most, metadata, url }) => respond(json!({
            "tag": "payRequest",
            "callback": url,
            "minSendable": least,
            "maxSendable": most,
            "metadata": metadata,
            "commentAllowed": MAX_COMMENT_CHARS,
        })),
        Err(error) => refused(&error),
    }
}

fn refused(refusal: &LinkError) -> Response {
    if let LinkError::Store(failure) = refusal {
        tracing::error!(error = %failure, "a payment link could not be read");
    }
    match refusal {
        LinkError::NotFound => error("there is no such payment link"),
        LinkError::Over(_) => error("nothing can be paid here any more"),
        LinkError::Outside { least, most } => error(&format!("the amount must be from {least} to {most} millisats")),
        LinkError::FractionOfSat => error("whole sats only: the amount must be a multiple of 1000 millisats"),
        LinkError::TooMuch => error("this is more than can be paid here at once"),
        LinkError::NoRate(currency) => {
            error(&format!("there is no exchange rate for {currency} at the moment; try again in a few minutes"))
        }
        LinkError::Comment => {
            error(&format!("the comment must have at most {MAX_COMMENT_CHARS} characters and no control characters"))
        }
        LinkError::Busy { .. } => error("many people are paying at the moment; try again in a minute"),
        LinkError::Refused => error("this service's wallet makes no invoice for this payment; another amount may work"),
        LinkError::NoInvoice => error("payments are not possible at the moment; try again later"),
        LinkError::Store(_) => error("the service is unavailable at the moment; try again later"),
    }
}

fn error(reason: &str) -> Response {
    respond(json!({ "status": "ERROR", "reason": reason }))
}

fn respond(body: Value) -> Response {
    ([(ACCESS_CONTROL_ALLOW_ORIGIN, "*"), (CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

fn warn_of_wallet() {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            "the Lightning backend makes invoices without the description hash that was asked for: some payers' wallets will \
             refuse invoices of payment links that they ask for by LNURL (LUD-06); the pages of payment links are not affected"
        );
    });
}
