//! A waiting payment, as the page shows it: a summary in the list, and in full before a decision.

use std::time::Duration;

use usher_engine::{PaymentPurpose, UnixMillis, WaitingPayment};
use usher_page_layout::short_key;
use usher_protocol::text::{MAX_LABEL_CHARS, clean};

use crate::amounts::sats;
use crate::operators::state::OperatorsState;
use crate::payment::date;
use crate::texts::ApprovalsTexts;
use crate::visit::Visit;

pub(super) struct ShownPayment {
    /// The first part of its forms' paths.
    pub(super) address: String,
    pub(super) amount: String,
    /// Labelled details.
    pub(super) rows: Vec<Row>,
}

pub(super) struct Row {
    pub(super) label: &'static str,
    pub(super) value: String,
    /// Whether it is an identifier.
    pub(super) is_code: bool,
}

impl ShownPayment {
    pub(super) fn in_list(state: &OperatorsState, visit: &Visit, payment: &WaitingPayment) -> Self {
        Self::of(state, visit, payment, false)
    }

    pub(super) fn in_full(state: &OperatorsState, visit: &Visit, payment: &WaitingPayment) -> Self {
        Self::of(state, visit, payment, true)
    }

    fn of(state: &OperatorsState, visit: &Visit, payment: &WaitingPayment, is_full: bool) -> Self {
        let texts = &visit.texts.approvals;
        let of_payments = &visit.texts.payment;
        let in_sats = |millisats: u64| of_payments.amount(sats(millisats, of_payments.decimal_mark));
        let row = |label, value: String| Row { label, value, is_code: false };
        let code = |label, value: &str| {
            let value = if is_full { value.to_owned() } else { short_key(value) };
            Row { label, value, is_code: true }
        };
        let mut rows = vec![row(texts.fee, texts.at_most(in_sats(payment.max_fee)))];
        match &payment.purpose {
            PaymentPurpose::Invoice { description, payee } => {
                let known = Some(description.as_str()).filter(|description| !description.is_empty());
                rows.push(row(texts.purpose, known.unwrap_or(texts.unknown_purpose).to_owned()));
                rows.push(code(texts.payee, payee));
            }
            PaymentPurpose::Refund { payment, description } => {
                rows.push(row(texts.purpose, texts.refund_of(description)));
                rows.push(code(texts.refunded_payment, &payment.to_string()));
            }
            PaymentPurpose::OnChain { address } => rows.push(code(texts.on_chain_address, address)),
        }
        let now = state.clock.now();
        let since = Duration::from_millis(now.0.saturating_sub(payment.requested_at.0));
        let until = Duration::from_millis(payment.expires_at.0.saturating_sub(now.0));
        let when = |said: String, at: UnixMillis| match date(at) {
            Some(at) if is_full => format!("{said} ({at})"),
            _ => said,
        };
        rows.extend([
            row(texts.requested_by, requested_by(state, texts, payment, is_full)),
            row(texts.since, when(texts.ago(texts.duration(since)), payment.requested_at)),
            row(texts.until, when(texts.in_time(texts.duration(until)), payment.expires_at)),
        ]);
        rows.extend(is_full.then(|| code(texts.number, &payment.id.to_string())));
        Self { address: format!("{}/{}", state.path(), payment.id), amount: in_sats(payment.amount), rows }
    }
}

/// The requester: the key's name and id, or the end of its id if it was revoked.
fn requested_by(state: &OperatorsState, texts: &ApprovalsTexts, payment: &WaitingPayment, is_full: bool) -> String {
    let Some(origin) = payment.requested_by else { return texts.token.to_owned() };
    let key = state.keys.list().into_iter().find(|key| key.id.origin() == origin);
    match key {
        // Names need not be unique.
        Some(key) => {
            let id = key.id.to_string();
            let id = if is_full { id } else { short_key(&id) };
            texts.key(id, clean(&key.terms.name, MAX_LABEL_CHARS))
        }
        None => {
            let operator = state.keys.operators().of_origin(origin);
            operator.map_or_else(|| texts.revoked_key.to_owned(), |operator| operator.name)
        }
    }
}
