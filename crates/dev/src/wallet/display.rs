//! Text and JSON forms of requests, subscriptions and wallets.

use std::fmt::Write as _;

use nostr::ToBech32 as _;
use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_protocol::message::Currency;
use usher_protocol::text::clean;
use usher_sandbox::wallet::{DeliveryStatus, Request, RequestContent, Subscription, WalletFile};

/// Characters shown of an id: enough to distinguish requests, few enough to type.
const SHORT: usize = 8;

/// The beginning of a request's id, safe for a terminal and a command line.
pub(super) fn short(request: &Request) -> String {
    let id: String = request.id.chars().take(SHORT).collect();
    if id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) { id } else { clean(&id, SHORT) }
}

pub(super) fn npub(key: &PublicKey) -> String {
    match key.to_bech32() {
        Ok(npub) => npub,
        Err(never) => match never {},
    }
}

pub(super) fn request(request: &Request, name: Option<&str>, now: u64) -> String {
    let key = npub(&request.from);
    let from = name.map_or_else(|| key.clone(), |name| format!("\"{name}\" ({key})"));
    let mut text = format!("{} {} from {from}", request.content.title(), short(request));
    text.push_str(if request.service.is_some() {
        ""
    } else {
        " (unknown service: the wallet never opened its handshake URL)"
    });
    if let Some(expires_at) = request.content.expires_at() {
        let left = expires_at.saturating_sub(now);
        let _ = if left == 0 { write!(text, ", expired") } else { write!(text, ", {left} s left") };
    }
    text.push_str(&request.content.terms());
    text
}

fn unit(currency: &Currency) -> String {
    currency.to_string().to_lowercase()
}

pub(super) fn balance(millisats: u64) -> String {
    usher_sandbox::amounts::millisats(millisats)
}

pub(super) fn balance_json(millisats: u64) -> Value {
    json!({"event": "balance", "balance": millisats})
}

pub(super) fn subscription(subscription: &Subscription) -> String {
    let state = match &subscription.closed {
        None => "open",
        Some(closed) if closed.by_service => "closed by the service",
        Some(_) => "closed",
    };
    let mut text = format!(
        "{} {} {}, {} paid, {state}",
        clean(&subscription.id, 64),
        usher_sandbox::amounts::amount(subscription.amount, &subscription.currency),
        subscription.recurrence.calendar,
        subscription.payments,
    );
    if let Some(description) = &subscription.description {
        let _ = write!(text, ": {description}");
    }
    text
}

pub(super) fn subscription_json(subscription: &Subscription) -> Value {
    let mut value = json!({"event": "subscription"});
    if let (Some(fields), Ok(Value::Object(more))) = (value.as_object_mut(), serde_json::to_value(subscription)) {
        fields.extend(more);
    }
    value
}

pub(super) fn request_json(request: &Request, name: Option<&str>) -> Value {
    let permissions = match &request.content {
        RequestContent::Authentication(challenge) => Some(&challenge.required_permissions),
        _ => None,
    };
    let amount = request.content.amount();
    let ticket = request.content.ticket();
    json!({
        "event": "request",
        "id": request.id,
        "asked": request.content.title(),
        "kind": request.content.kind(),
        "from": request.from.to_hex(),
        "service": request.service.map(|key| key.to_hex()),
        "service_name": name,
        "expires_at": request.content.expires_at(),
        "received_at": request.received_at,
        "required_permissions": permissions,
        "amount": amount.map(|(amount, _)| amount).or(ticket.map(|(amount, ..)| amount)),
        "currency": amount.map(|(_, currency)| unit(currency)),
        "unit": ticket.map(|(_, unit, _)| unit),
        "mint_url": ticket.map(|(.., mint_url)| mint_url),
        "description": request.content.description(),
    })
}

pub(super) fn wallet(file: &WalletFile) -> String {
    let mut text = format!("wallet      {}\n", file.path().display());
    let _ = writeln!(text, "public key  {}", file.identity.public_key().to_hex());
    let _ = writeln!(text, "            {}", npub(&file.identity.public_key()));
    if file.identity.proof().is_some() {
        let _ = writeln!(text, "device of   {}", file.identity.main_key().to_hex());
    }
    for relay in &file.relays {
        let _ = writeln!(text, "relay       {relay}");
    }
    for service in &file.services {
        let _ = writeln!(text, "service     {} at {}", npub(&service.main_key), service.relays.join(", "));
    }
    if file.nwc.is_some() {
        text.push_str("lightning   connected\n");
    }
    text.truncate(text.trim_end().len());
    text
}

pub(super) fn wallet_json(file: &WalletFile) -> Value {
    json!({
        "event": "wallet",
        "file": file.path(),
        "public_key": file.identity.public_key().to_hex(),
        "npub": npub(&file.identity.public_key()),
        "main_key": file.identity.main_key().to_hex(),
        "relays": file.relays,
        "services": file.services,
        "lightning": file.nwc.is_some(),
    })
}

pub(super) const fn settled(settled: DeliveryStatus) -> &'static str {
    match settled {
        DeliveryStatus::Accepted => "",
        DeliveryStatus::Unconfirmed | DeliveryStatus::Failed => {
            " (not confirmed by any relay; some relays never confirm)"
        }
    }
}
