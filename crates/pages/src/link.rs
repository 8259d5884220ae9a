//! The page of a payment link: a visitor requests an invoice and pays it on the page of that payment.
//!
//! Anybody with the address can pay. An invoice is created only when somebody presses the button.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use usher_engine::operations::{LinkAmount, LinkState};
use usher_engine::ports::CurrencyCode;
use usher_engine::{LinkError, LinkView, StreamId};
use usher_page_layout::{Frame, Language};
use usher_protocol::lnurl;

use crate::amounts::{about_text, grouped, sats};
use crate::keyed_page::{self, Address, Page};
use crate::login_page_request::other_type;
use crate::page::{self, Next, summary};
use crate::qr::Qr;
use crate::state::PagesState;
use crate::texts::{self, LinkTexts, Message, Texts};
use crate::visit::Visit;

const FOLDER: &str = "link";

const SAT_DECIMALS: u32 = 3;

#[derive(Template)]
#[template(path = "link.html")]
struct LinkPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    /// The amount, or the prompt for it.
    title: &'a str,
    /// The approximate amount in sats, or in a currency.
    about: Option<&'a str>,
    description: &'a str,
    /// The beginning of a long description, so that it does not push the form off a phone's screen.
    summary: Option<String>,
    is_chosen: bool,
    label: &'a str,
    range: &'a str,
    /// The visitor's input and its error.
    typed: &'a str,
    refused: Option<&'a str>,
    qr: Option<Qr>,
    lnurl: &'a str,
}

struct Found {
    id: StreamId,
    /// The page's own path.
    address: String,
    view: LinkView,
}

/// `GET /link/{stream_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let found = find(&pages, &visit, &id, &secret).await?;
    let _turn = pages.turn().await;
    Ok(show_link(StatusCode::OK, &visit, &found, "", None))
}

/// `POST /link/{stream_id}/{secret}`: the form has the amount, if the visitor chooses it.
pub(crate) async fn pay(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    visit: Visit,
    headers: HeaderMap,
    form: String,
) -> Page {
    if let Some(refused) = other_type(&headers, "application/x-www-form-urlencoded") {
        return Err(refused);
    }
    let found = find(&pages, &visit, &id, &secret).await?;
    let typed = page::field(&form, "amount").unwrap_or_default();
    let unit = Unit::of(&found.view, visit.texts);
    let amount = match found.view.amount {
        LinkAmount::Fixed { .. } => None,
        LinkAmount::Chosen { .. } => match unit.read(&typed) {
            Ok(amount) => Some(amount),
            Err(fault) => {
                let refused = fault.text(&visit.texts.link, &unit.example());
                let _turn = pages.turn().await;
                return Err(show_link(StatusCode::UNPROCESSABLE_ENTITY, &visit, &found, &typed, Some(&refused)));
            }
        },
    };
    let texts = &visit.texts.link;
    let refused = match pages.engine.payment_links().pay(found.id, &secret, amount, visit.network).await {
        Ok(started) => return Ok(page::see_other(&pages.address("pay", started.payment, &started.page_secret))),
        Err(LinkError::Outside { .. }) => {
            let (least, most) = range(&found.view, &unit);
            texts.outside(least, most)
        }
        Err(LinkError::TooMuch) => texts.too_much.to_owned(),
        Err(other) => return Err(instead(&visit, found.id, &found.address, other)),
    };
    let _turn = pages.turn().await;
    Err(show_link(StatusCode::UNPROCESSABLE_ENTITY, &visit, &found, &typed, Some(&refused)))
}

async fn find(pages: &PagesState, visit: &Visit, id: &str, secret: &str) -> Result<Found, Response> {
    let texts = &visit.texts.link;
    let not_found = || page::message(StatusCode::NOT_FOUND, visit, &texts.not_found, Next::Nothing);
    let Ok(id) = id.parse::<StreamId>() else { return Err(not_found()) };
    let view = match pages.engine.payment_links().page(id, secret).await {
        Ok(view) => view.ok_or_else(not_found)?,
        Err(error) => return Err(keyed_page::unavailable(visit, id, &error)),
    };
    let address = pages.address(FOLDER, id, secret);
    match over(texts, view.state) {
        Some(message) => Err(page::message(StatusCode::GONE, visit, message, Next::Nothing)),
        None => Ok(Found { id, address, view }),
    }
}

const fn over(texts: &LinkTexts, state: LinkState) -> Option<&Message> {
    match state {
        LinkState::Open => None,
        LinkState::Closed => Some(&texts.closed),
        LinkState::Expired => Some(&texts.expired),
        LinkState::Completed => Some(&texts.completed),
    }
}

/// The message shown in place of an invoice. `address` is the page's own path.
pub(crate) fn instead(visit: &Visit, id: StreamId, address: &str, error: LinkError) -> Response {
    let texts = &visit.texts.link;
    let back = Next::Back(address);
    let unavailable = |message| page::message(StatusCode::SERVICE_UNAVAILABLE, visit, message, back);
    match error {
        LinkError::Busy { retry_after } => {
            let mut response = page::message(StatusCode::TOO_MANY_REQUESTS, visit, &texts.busy, back);
            response.headers_mut().insert(RETRY_AFTER, retry_after.as_secs().max(1).into());
            response
        }
        LinkError::NoRate(_) => unavailable(&texts.no_rate),
        LinkError::NoInvoice | LinkError::Refused => unavailable(&texts.no_invoice),
        LinkError::Over(state) => {
            page::message(StatusCode::GONE, visit, over(texts, state).unwrap_or(&texts.closed), Next::Nothing)
        }
        LinkError::Store(error) => keyed_page::unavailable(visit, id, &error),
        LinkError::NotFound
        | LinkError::Outside { .. }
        | LinkError::FractionOfSat
        | LinkError::TooMuch
        | LinkError::Comment => page::message(StatusCode::NOT_FOUND, visit, &texts.not_found, Next::Nothing),
    }
}

fn show_link(status: StatusCode, visit: &Visit, found: &Found, typed: &str, refused: Option<&str>) -> Response {
    let Found { address, view, .. } = found;
    let texts = visit.texts;
    let unit = Unit::of(view, texts);
    let (title, range) = match view.amount {
        LinkAmount::Fixed { amount } => (unit.shown(amount), String::new()),
        LinkAmount::Chosen { .. } => {
            let (least, most) = range(view, &unit);
            (texts.link.how_much.to_owned(), texts.link.range(least, most))
        }
    };
    let about = match (view.currency, view.amount, view.millisats) {
        (Some(_), LinkAmount::Fixed { .. }, Some((millisats, _))) => {
            let amount = texts.payment.amount(sats(millisats, texts.payment.decimal_mark));
            Some(texts.link.about(amount))
        }
        _ => view.about.as_ref().and_then(|about| about_text(about, texts)),
    };
    let lnurl = lnurl::encode(&view.lnurl_url);
    visit.frame.render_without_script(
        status,
        &LinkPage {
            frame: &visit.frame,
            texts,
            address,
            title: &title,
            about: about.as_deref(),
            description: &view.description,
            summary: summary(&view.description),
            is_chosen: matches!(view.amount, LinkAmount::Chosen { .. }),
            label: &texts.link.label(unit.name()),
            range: &range,
            typed,
            refused,
            qr: Qr::of(&format!("lightning:{}", lnurl.to_uppercase())),
            lnurl: &lnurl,
        },
    )
}

fn range(view: &LinkView, unit: &Unit) -> (String, String) {
    let (least, most) = match view.amount {
        LinkAmount::Fixed { amount } => (amount, amount),
        LinkAmount::Chosen { min, max } => (min, max),
    };
    (unit.shown(least), unit.shown(most))
}

/// The amount that a visitor typed, in the link's unit; `None` if it is none.
pub fn typed_amount(view: &LinkView, typed: &str) -> Option<u64> {
    Unit::of(view, texts::of(Language::En)).read(typed).ok()
}

/// The unit shown to visitors: the link's currency, or sats.
struct Unit {
    currency: Option<CurrencyCode>,
    texts: &'static Texts,
}

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AmountFault {
    NoNumber,
    TooPrecise,
}

impl AmountFault {
    fn text(self, texts: &LinkTexts, example: &str) -> String {
        match self {
            Self::NoNumber => texts.no_number(example),
            Self::TooPrecise => texts.too_precise(example),
        }
    }
}

impl Unit {
    const fn of(view: &LinkView, texts: &'static Texts) -> Self {
        Self { currency: view.currency, texts }
    }

    fn name(&self) -> &str {
        self.currency.as_ref().map_or("sats", CurrencyCode::as_str)
    }

    fn decimals(&self) -> u32 {
        self.currency.map_or(SAT_DECIMALS, CurrencyCode::decimals)
    }

    fn shown(&self, amount: u64) -> String {
        let mark = self.texts.payment.decimal_mark;
        match self.currency {
            None => self.texts.payment.amount(sats(amount, mark)),
            Some(currency) => {
                let amount = grouped(&major(amount, self.decimals()), mark);
                self.texts.payment.price(amount, currency.as_str())
            }
        }
    }

    /// An example of an amount as a visitor may type it.
    fn example(&self) -> String {
        match self.currency {
            None => "1000".to_owned(),
            Some(_) => major(10_u64.saturating_pow(self.decimals()).saturating_mul(10), self.decimals())
                .replace('.', self.texts.payment.decimal_mark),
        }
    }

    /// Parses a visitor's input: digits, with decimal places after a point or a comma.
    fn read(&self, typed: &str) -> Result<u64, AmountFault> {
        let (whole, places) = typed.trim().split_once(['.', ',']).unwrap_or((typed.trim(), ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !are_digits(whole) || !are_digits(places) {
            return Err(AmountFault::NoNumber);
        }
        let decimals = usize::try_from(self.decimals()).unwrap_or_default();
        let places = places.trim_end_matches('0');
        // Whole sats only.
        if places.len() > self.currency.map_or(0, |_| decimals) {
            return Err(AmountFault::TooPrecise);
        }
        // Overflow exceeds the maximum of any link.
        Ok(format!("{whole}{places:0<decimals$}").parse().unwrap_or(u64::MAX))
    }
}

/// An amount in the minor unit, formatted in the major unit with all decimal places.
fn major(amount: u64, decimals: u32) -> String {
    let unit = 10_u64.saturating_pow(decimals);
    let (whole, rest) = (amount / unit, amount % unit);
    if decimals == 0 {
        whole.to_string()
    } else {
        format!("{whole}.{rest:0width$}", width = usize::try_from(decimals).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(currency: &str) -> Unit {
        Unit { currency: CurrencyCode::parse(currency), texts: texts::of(Language::En) }
    }

    #[test]
    fn amounts_are_read_as_people_type_them() {
        for (currency, typed, amount) in [
            ("EUR", "12", 1_200),
            ("EUR", " 12.5 ", 1_250),
            ("EUR", "12,50", 1_250),
            ("EUR", "0.01", 1),
            ("EUR", "12.500", 1_250),
            ("EUR", "12.", 1_200),
            ("JPY", "700", 700),
            ("JPY", "700.00", 700),
            ("KWD", "1.234", 1_234),
            ("sats", "21", 21_000),
            ("EUR", "99999999999999999999999", u64::MAX),
        ] {
            assert_eq!(unit(currency).read(typed), Ok(amount), "{typed} {currency}");
        }
        for (currency, typed) in [("EUR", "0.001"), ("JPY", "1.5"), ("sats", "0.5")] {
            assert_eq!(unit(currency).read(typed), Err(AmountFault::TooPrecise), "{typed} {currency}");
        }
        for wrong in ["", " ", "-1", "+1", ".5", "1e3", "1,000.00", "1 000", "NaN", "∞", "０", "<b>1</b>"] {
            assert_eq!(unit("EUR").read(wrong), Err(AmountFault::NoNumber), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_shown_with_their_unit() {
        assert_eq!(unit("EUR").shown(125_005), "EUR\u{a0}1\u{202f}250.05");
        assert_eq!(unit("JPY").shown(700), "JPY\u{a0}700");
        assert_eq!(unit("sats").shown(21_500), "21.5 sats");
        let german = Unit { currency: CurrencyCode::parse("EUR"), texts: texts::of(Language::De) };
        assert_eq!((german.example().as_str(), unit("JPY").example().as_str()), ("10,00", "10"));
    }
}
