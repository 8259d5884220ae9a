//! What the phone shows.

use askama::Template;
use usher_page_layout::short_key;
use usher_protocol::PublicKey;
use usher_protocol::message::Currency;
use usher_sandbox::amounts::{self, sats};
use usher_sandbox::wallet::{Request, RequestContent, Subscription};

use crate::dev::test_wallet::{Progress, TestWallet};

#[derive(Template)]
#[template(path = "phone.html")]
pub(super) struct PhonePage<'a> {
    style: &'a str,
    version: u64,
    user: String,
    /// In sats.
    balance: String,
    notice: String,
    /// Requests to reply to, the newest first.
    asks: Vec<Ask>,
    past: Vec<Past>,
    subscriptions: Vec<Agreed>,
    tickets: Vec<String>,
}

/// A request to reply to.
struct Ask {
    /// The event it came in.
    id: String,
    /// The name of the service that asks, or its key.
    who: String,
    /// Whether the wallet has opened a handshake URL of the service.
    is_known: bool,
    title: &'static str,
    amount: Option<String>,
    /// More of the terms.
    terms: Option<String>,
    description: Option<String>,
    is_payment: bool,
    /// Why the wallet tries it again.
    has_failed: bool,
}

/// A request that needs no reply.
struct Past {
    title: &'static str,
    amount: Option<String>,
    description: Option<String>,
    outcome: String,
}

struct Agreed {
    id: String,
    amount: String,
    calendar: String,
    description: Option<String>,
    payments: u32,
}

impl<'a> PhonePage<'a> {
    pub(super) async fn of(style: &'a str, test_wallet: &TestWallet, version: u64, most: usize) -> Self {
        let wallet = test_wallet.wallet();
        let (mut asks, mut past) = (Vec::new(), Vec::new());
        for (request, progress) in test_wallet.requests(most).into_iter().rev() {
            let is_over = request.content.expires_at().is_some_and(|at| at <= wallet.now());
            if progress.is_open() && !is_over {
                let name = wallet.service_name(&request).await;
                asks.push(Ask::of(&request, name, progress));
            } else {
                past.push(Past::of(&request, progress, is_over));
            }
        }
        let balance = match wallet.payment_source() {
            Some(source) => source.balance().await.map_or_else(|_| "unknown".to_owned(), sats),
            None => "none".to_owned(),
        };
        let held = match wallet.tickets() {
            Some(tickets) => tickets.balances().await.unwrap_or_default(),
            None => Vec::new(),
        };
        Self {
            style,
            version,
            user: key(&wallet.main_key()),
            balance,
            notice: test_wallet.notice(),
            asks,
            past,
            subscriptions: wallet
                .subscriptions()
                .iter()
                .rev()
                .filter(|known| known.is_open())
                .map(Agreed::of)
                .collect(),
            tickets: held.iter().map(|held| amounts::tickets(held.amount, &held.unit, &held.mint_url)).collect(),
        }
    }
}

impl Ask {
    fn of(request: &Request, name: Option<String>, progress: Progress) -> Self {
        let content = &request.content;
        let terms = match content {
            RequestContent::Recurring(asked) => Some(asked.recurrence.calendar.to_string()),
            RequestContent::Authentication(challenge) if !challenge.required_permissions.is_empty() => {
                Some(format!("Permissions: {}", challenge.required_permissions.join(" ")))
            }
            _ => content.ticket().map(|(amount, unit, mint)| amounts::tickets(amount, unit, mint)),
        };
        Self {
            id: request.event.id.to_hex(),
            who: name.unwrap_or_else(|| key(&request.from)),
            is_known: request.service.is_some(),
            title: title(content),
            amount: amount(content),
            terms,
            description: content.description().map(str::to_owned),
            is_payment: matches!(content, RequestContent::Payment(_)),
            has_failed: progress == Progress::Failed,
        }
    }
}

impl Past {
    fn of(request: &Request, progress: Progress, is_over: bool) -> Self {
        let outcome = match progress {
            Progress::Pending if is_over => "expired".to_owned(),
            Progress::Notice => String::new(),
            progress => progress.to_string(),
        };
        let content = &request.content;
        let amount = amount(content)
            .or_else(|| content.ticket().map(|(amount, unit, mint)| amounts::tickets(amount, unit, mint)));
        Self { title: title(content), amount, description: content.description().map(str::to_owned), outcome }
    }
}

impl Agreed {
    fn of(known: &Subscription) -> Self {
        Self {
            id: known.id.clone(),
            amount: in_currency(known.amount, &known.currency),
            calendar: known.recurrence.calendar.to_string(),
            description: known.description.clone(),
            payments: known.payments,
        }
    }
}

fn title(content: &RequestContent) -> &'static str {
    match content {
        RequestContent::Authentication(_) => "Log in",
        RequestContent::Payment(asked) if asked.subscription_id.is_some() => "Payment of a subscription",
        RequestContent::Payment(_) => "Payment",
        RequestContent::Recurring(_) => "Subscription",
        RequestContent::Invoice(_) => "Money for you",
        RequestContent::Ticket(_) => "Show your ticket",
        RequestContent::Token(sent) => match &sent.outcome {
            None => "A ticket for you",
            Some(Ok(_)) => "Ticket received",
            Some(Err(_)) => "Ticket refused",
        },
        RequestContent::Closed(_) => "Subscription closed",
        _ => "Message",
    }
}

fn amount(content: &RequestContent) -> Option<String> {
    content.amount().map(|(amount, currency)| in_currency(amount, currency))
}

fn in_currency(amount: u64, currency: &Currency) -> String {
    match currency {
        Currency::Millisats => sats(amount),
        other => amounts::amount(amount, other),
    }
}

fn key(key: &PublicKey) -> String {
    nostr::ToBech32::to_bech32(key).map_or_else(|_| key.to_hex(), |npub| short_key(&npub))
}
