//! Checks the values of a request's fields, each alone and together.
//!
//! Separate from starting, because a client gets all errors in one response: even if some fields have the wrong type, the
//! others are checked.

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;

use crate::kernel::core::Core;
use crate::kernel::errors::StartError;
use crate::operations::{Subscription, SubscriptionState, SubscriptionView};
use crate::payment::rules::PaymentRules;
use crate::ports::{StoreError, TicketWallet, Token};
use crate::subscription::open_subscription::{self, OpenSubscription};
use crate::{FieldErrors, UnixMillis};

/// How long a user may take to pay if the caller does not say.
const PAYMENT_TTL: Duration = Duration::from_secs(300);

/// The longest that a user may take to pay, or to make an invoice (docs/payments.md).
const LONGEST_PAYMENT: Duration = Duration::from_secs(24 * 3600);

/// The longest that a user may take to agree to a subscription: the request is repeated during all of it.
const LONGEST_AGREEMENT: Duration = Duration::from_secs(366 * 24 * 3600);

/// The largest amount of a ticket in its unit: what JSON programs can read exactly (RFC 8259, section 6).
const LARGEST_TICKET: u64 = (1 << 53) - 1;

/// The longest token that fits into a message to a user, in bytes: relays commonly refuse events of more than 64 KiB. NIP-44
/// pads 40,012 bytes of JSON to 40,960, and its payload in base64 has 54,704. The next step would have 65,628.
const LONGEST_SENT_TOKEN: usize = 40_000;

/// How far in the past the first automatic charge may be due, because clocks differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

/// The fields of a request whose values are checked, as far as they are present and of the right type.
#[derive(Clone, Debug)]
pub enum FieldValues {
    /// Of [`SinglePaymentRequest`](crate::payment::start::SinglePaymentRequest).
    SinglePayment {
        /// Who pays.
        main_key: Option<PublicKey>,
        /// Millisats.
        amount: Option<u64>,
        /// The subscription it belongs to.
        subscription_id: Option<String>,
        /// Unix seconds.
        expires_at: Option<u64>,
    },
    /// Of [`PayInvoiceRequest`](crate::payment::invoice_payment::PayInvoiceRequest).
    InvoicePayment {
        /// What is paid.
        invoice: Option<Invoice>,
        /// Millisats.
        amount: Option<u64>,
        /// Unix seconds.
        expires_at: Option<u64>,
    },
    /// Of [`RequestInvoice`](crate::payment::invoice_request::start::RequestInvoice).
    InvoiceRequest {
        /// Millisats.
        amount: Option<u64>,
        /// Unix seconds.
        expires_at: Option<u64>,
    },
    /// Of [`RequestTicket`](crate::ticket::request::start::RequestTicket), and of requests to mint or to withdraw one.
    Ticket {
        /// In the ticket's unit.
        amount: Option<u64>,
        /// Unix seconds.
        expires_at: Option<u64>,
    },
    /// Of [`SendTicket`](crate::ticket::delivery::start::SendTicket).
    SentTicket {
        /// What is sent.
        token: Option<Token>,
    },
    /// Of [`RecurringPaymentRequest`](crate::subscription::request::start::RecurringPaymentRequest).
    RecurringPayment {
        /// Millisats.
        amount: Option<u64>,
        /// Millisats.
        minimum_amount: Option<u64>,
        /// Unix seconds until which the user can reply.
        expires_at: Option<u64>,
        /// Unix seconds of the first payment.
        first_payment_due: Option<u64>,
        /// Unix seconds after which none falls due.
        until: Option<u64>,
        /// Whether the service charges each due date automatically.
        auto_charge: bool,
    },
}

/// Checks the values of fields.
pub(crate) struct FieldChecks {
    pub(crate) core: Core,
    pub(crate) rules: PaymentRules,
    pub(crate) tickets: Option<Arc<dyn TicketWallet>>,
}

impl FieldChecks {
    /// Adds all invalid fields to `errors`.
    pub(crate) async fn add_errors(&self, values: &FieldValues, errors: &mut FieldErrors) -> Result<(), StoreError> {
        let now = self.core.clock.now();
        match values {
            FieldValues::SinglePayment { main_key, amount, subscription_id, expires_at } => {
                self.check_amount("/amount", *amount, errors);
                check_expiry("/expires_at", *expires_at, now, errors);
                if let (Some(id), Some(main_key)) = (subscription_id, main_key) {
                    let found = open_subscription::find(&*self.core.store, id).await?;
                    check_subscription(found.as_ref().map(|found| &found.subscription), main_key, *amount, errors);
                }
            }
            FieldValues::InvoicePayment { invoice, amount, expires_at } => {
                if let Some(invoice) = invoice {
                    self.check_invoice(invoice, *amount, now, errors);
                }
                check_expiry("/expires_at", *expires_at, now, errors);
            }
            FieldValues::InvoiceRequest { amount, expires_at } => {
                self.check_amount("/content/amount", *amount, errors);
                check_expiry("/content/expires_at", *expires_at, now, errors);
            }
            FieldValues::Ticket { amount, expires_at } => {
                check_ticket_amount(*amount, errors);
                check_expiry("/expires_at", *expires_at, now, errors);
            }
            FieldValues::SentTicket { token } => {
                if let Some(token) = token {
                    self.check_sent_token(token, errors);
                }
            }
            FieldValues::RecurringPayment {
                amount,
                minimum_amount,
                expires_at,
                first_payment_due,
                until,
                auto_charge,
            } => {
                self.check_amount("/amount", *amount, errors);
                check_minimum(*minimum_amount, *amount, errors);
                check_agreement(*expires_at, now, errors);
                check_recurrence(*first_payment_due, *until, *auto_charge, now, errors);
            }
        }
        Ok(())
    }

    /// Refuses a request with invalid fields.
    pub(crate) async fn check(&self, values: FieldValues) -> Result<(), StartError> {
        let mut errors = FieldErrors::default();
        self.add_errors(&values, &mut errors).await?;
        errors.finish(Some(())).map_err(StartError::Invalid)
    }

    fn check_amount(&self, pointer: &'static str, amount: Option<u64>, errors: &mut FieldErrors) {
        let max = self.rules.max_amount;
        match amount {
            Some(0) => errors.add(pointer, "must be more than zero"),
            Some(amount) if amount > max => {
                errors.add(pointer, format!("must be at most {max} millisats (limits.max_amount_millisats)"));
            }
            Some(_) | None => {}
        }
    }

    fn check_invoice(&self, invoice: &Invoice, amount: Option<u64>, now: UnixMillis, errors: &mut FieldErrors) {
        if invoice.network() != self.rules.network {
            let (theirs, ours) = (invoice.network(), self.rules.network);
            errors.add("/invoice", format!("is for the network {theirs}; this service uses {ours}"));
        }
        if invoice.is_expired(now.secs()) {
            errors.add("/invoice", "has expired");
        }
        match (invoice.amount(), amount) {
            (None, _) => errors.add("/invoice", "names no amount"),
            (Some(theirs), Some(given)) if theirs != given => {
                errors.add("/amount", format!("is not the invoice's, which is {theirs}"));
            }
            (Some(amount), _) => self.check_amount("/invoice", Some(amount), errors),
        }
    }

    fn check_sent_token(&self, token: &Token, errors: &mut FieldErrors) {
        if token.0.len() > LONGEST_SENT_TOKEN {
            let detail = format!(
                "has {} bytes; a message to a user has room for {LONGEST_SENT_TOKEN}. Send a token of fewer proofs",
                token.0.len()
            );
            errors.add("/token", detail);
        } else if let Some(Err(fault)) = self.tickets.as_ref().map(|wallet| wallet.read_token(token)) {
            errors.add("/token", fault);
        }
    }

    /// Refuses a payment that its subscription does not allow; returns the subscription, to whose revision the payment is
    /// bound.
    pub(crate) async fn payment_by_subscription(
        &self,
        id: &str,
        main_key: &PublicKey,
        amount: u64,
    ) -> Result<Option<OpenSubscription>, StartError> {
        let found = open_subscription::find(&*self.core.store, id).await?;
        let mut errors = FieldErrors::default();
        check_subscription(found.as_ref().map(|found| &found.subscription), main_key, Some(amount), &mut errors);
        errors.finish(Some(found)).map_err(StartError::Invalid)
    }
}

/// A payment of a subscription: the subscription must be active and of this user, and the amount no more than authorized.
fn check_subscription(
    subscription: Option<&Subscription>,
    main_key: &PublicKey,
    amount: Option<u64>,
    errors: &mut FieldErrors,
) {
    const POINTER: &str = "/subscription_id";
    match subscription.filter(|subscription| subscription.is_of(main_key)) {
        Some(subscription) => {
            let SubscriptionView { state, authorized_amount, .. } = subscription.view();
            if state != SubscriptionState::Active {
                errors.add(POINTER, format!("is of a subscription that is {}", state.as_str()));
            } else if amount.is_some_and(|amount| amount > authorized_amount) {
                errors.add("/amount", format!("is more than the user authorized, which is {authorized_amount}"));
            }
        }
        None => errors.add(POINTER, "is of no subscription of this main_key"),
    }
}

fn check_minimum(minimum: Option<u64>, amount: Option<u64>, errors: &mut FieldErrors) {
    match (minimum, amount) {
        (Some(0), _) => errors.add("/minimum_amount", "must be more than zero"),
        (Some(minimum), Some(amount)) if minimum > amount => {
            errors.add("/minimum_amount", "must not be more than amount");
        }
        _ => {}
    }
}

fn check_ticket_amount(amount: Option<u64>, errors: &mut FieldErrors) {
    match amount {
        Some(0) => errors.add("/amount", "must be more than zero"),
        Some(amount) if amount > LARGEST_TICKET => {
            errors.add("/amount", format!("must be at most {LARGEST_TICKET}"));
        }
        Some(_) | None => {}
    }
}

/// Until when a user can pay, or make an invoice.
pub(crate) fn expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(PAYMENT_TTL), UnixMillis::from_secs)
}

fn check_expiry(pointer: &'static str, given: Option<u64>, now: UnixMillis, errors: &mut FieldErrors) {
    let expires_at = expiry(given, now);
    if expires_at <= now {
        errors.add(pointer, "must be in the future");
    } else if expires_at > now.plus(LONGEST_PAYMENT) {
        errors.add(pointer, "must be within 24 hours");
    }
}

fn check_agreement(expires_at: Option<u64>, now: UnixMillis, errors: &mut FieldErrors) {
    let Some(expires_at) = expires_at.map(UnixMillis::from_secs) else { return };
    if expires_at <= now {
        errors.add("/expires_at", "must be in the future");
    } else if expires_at > now.plus(LONGEST_AGREEMENT) {
        errors.add("/expires_at", "must be within a year");
    }
}

fn check_recurrence(
    first_payment_due: Option<u64>,
    until: Option<u64>,
    auto_charge: bool,
    now: UnixMillis,
    errors: &mut FieldErrors,
) {
    if until.zip(first_payment_due).is_some_and(|(until, first)| until < first) {
        errors.add("/recurrence/until", "must not be before first_payment_due");
    }
    if until.is_some_and(|until| until <= now.secs()) {
        errors.add("/recurrence/until", "must be in the future");
    }
    let earliest = now.minus(CLOCK_TOLERANCE).secs();
    if auto_charge && first_payment_due.is_some_and(|first| first < earliest) {
        errors.add("/recurrence/first_payment_due", "must not be in the past when auto_charge is true");
    }
}
