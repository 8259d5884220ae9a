//! Starts a requested payment, by a user or by anybody who opens its page.

use usher_protocol::PublicKey;

use crate::access::Scope;
use crate::field_value_checks::{CheckedRequest, FieldChecks, FixedPrice, PRICE_FIELDS, fraction_of_sat};
use crate::kernel::commit::Change;
use crate::kernel::core::Core;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::machine::{Input, RequestedPayment, Signal, StateMachine as _, StepResult};
use crate::payment::Payments;
use crate::payment::expiry::payment_expiry;
use crate::payment::operation::{Payer, Payment, PaymentTerms, SubscriptionLink};
use crate::ports::{Conflict, StoreError};
use crate::price::PricedOperation;
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{
    CurrencyName, Description, Identifier, Key, Millisats, OrDefault, Subkeys, UnixSeconds, WebUrl,
};
use crate::subscription::find_subscription::{self, OpenSubscription};
use crate::subscription::operation::{SubscriptionState, SubscriptionView};
use crate::{FieldErrors, Requester};

request_body! {
    /// Asks for a payment.
    #[derive(Clone, Debug)]
    pub struct SinglePaymentRequest, SinglePaymentDraft = "SinglePaymentRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "description": "One coffee",
        "amount": 10000,
        "currency": "millisats",
    } {
        /// The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens the page or has the
        /// invoice can pay.
        main_key: Option<Key>,
        /// Keys that may respond for `main_key` without a proof of delegation; usually none, at most 8.
        subkeys: OrDefault<Subkeys>,
        /// What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
        description: Description,
        /// In millisats, sats, or the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`.
        amount: Millisats,
        /// `millisats`, `sats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount`
        /// comes to in millisats is fixed now, and rounded up to a whole sat.
        currency: CurrencyName,
        /// An active subscription of the same `main_key`: the payment is checked against what the user authorized, and
        /// counted.
        subscription_id: Option<Identifier>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
        /// Unix seconds until which the user can pay: at most 24 hours ahead, by default 15 minutes. Afterwards,
        /// the payer can request further invoices on the page, for 24 hours.
        expires_at: Option<UnixSeconds>,
        /// Where the payment page leads the user's browser at the end, with `stream_id` in the query; and earlier, when the user
        /// cancels, with `canceled=1` too, which changes nothing about the payment. It must be under one of `pages.return_urls`.
        return_url: Option<WebUrl>,
    }
}

impl CheckedRequest for SinglePaymentRequest {
    type Found = (FixedPrice, Option<OpenSubscription>);

    async fn check(
        draft: &SinglePaymentDraft,
        requester: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<Self::Found>, StoreError> {
        check_payer(draft, errors);
        let price = checks.price(PRICE_FIELDS, draft.amount, draft.currency, errors);
        checks.expiry("/expires_at", draft.expires_at, errors);
        let millisats = price.as_ref().and_then(|fixed| fixed.as_ref().ok()).map(|(millisats, _)| *millisats);
        let named = (draft.subscription_id.as_ref(), draft.main_key.as_ref());
        let subscription = payable_subscription(named, millisats, requester, &checks.core, errors).await?;
        Ok(price.map(|price| (price, subscription)))
    }

    fn warning(draft: &SinglePaymentDraft) -> Option<String> {
        fraction_of_sat(draft.amount, draft.currency)
    }
}

/// Fields that refer to a user require one.
fn check_payer(draft: &SinglePaymentDraft, errors: &mut FieldErrors) {
    const NEEDS: &str = "needs `main_key`: it belongs to a user";
    if draft.main_key.is_none() && !errors.names("/main_key") {
        if draft.subkeys.as_ref().is_some_and(|subkeys| !subkeys.is_empty()) {
            errors.add("/subkeys", NEEDS);
        }
        if draft.subscription_id.is_some() {
            errors.add("/subscription_id", NEEDS);
        }
    }
}

/// The subscription of a payment: it must be active and belong to this user, and the amount in millisats must not
/// exceed the authorized one.
async fn payable_subscription(
    (id, main_key): (Option<&String>, Option<&PublicKey>),
    amount: Option<u64>,
    requester: &Requester,
    core: &Core,
    errors: &mut FieldErrors,
) -> Result<Option<OpenSubscription>, StoreError> {
    const POINTER: &str = "/subscription_id";
    let (Some(id), Some(main_key)) = (id, main_key) else { return Ok(None) };
    if requester.need(Scope::Subscriptions).is_err() {
        return Ok(None);
    }
    let found = find_subscription::find(&core.store, requester, id).await?;
    let Some(found) = found.filter(|found| found.subscription.is_of(main_key)) else {
        return Ok(errors.reject(POINTER, "is of no subscription of this main_key"));
    };
    let SubscriptionView { state, authorized_amount, .. } = found.subscription.view();
    if state != SubscriptionState::Active {
        errors.add(POINTER, format!("is of a subscription that is {}", state.as_str()));
    } else if found.subscription.is_past_until(core.clock.now()) {
        errors.add(POINTER, "is of a subscription whose `until` has passed");
    } else if found.subscription.has_no_payment_left(core.clock.now()) {
        errors.add(POINTER, "is of a subscription whose last payments (max_payments) are being asked for");
    } else if amount.is_some_and(|amount| amount > authorized_amount) {
        errors.add("/amount", format!("is more than the user authorized, which is {authorized_amount}"));
    }
    Ok(Some(found))
}

impl Payments {
    /// Requests a payment to the service from a user, or from anybody who opens the page. The invoice follows later.
    pub async fn request(
        &self,
        requester: &Requester,
        request: SinglePaymentRequest,
        once: Option<IdempotentRequest<PricedOperation>>,
    ) -> Result<PricedOperation, StartError> {
        let now = self.core.clock.now();
        if request.subscription_id.is_some() {
            requester.need(Scope::Subscriptions)?;
        }
        let (request, (price, mut subscription)) = self.checks.check(requester, request).await?;
        self.need_lightning()?;
        let (amount, price) = price?;
        let expires_at = payment_expiry(request.expires_at, now);
        let stream_id = self.core.ids.stream_id();
        let return_url = self.pages.payment_return_url(request.return_url.as_deref(), stream_id)?;
        let request_id = self.core.ids.token();
        loop {
            let link = |subscription_id| SubscriptionLink { subscription_id, charge: None };
            let terms = PaymentTerms {
                payer: request.main_key.map(|main_key| Payer { main_key, subkeys: request.subkeys.clone() }),
                request_id: request_id.clone(),
                reference: request.reference.clone(),
                description: request.description.clone(),
                subscription: request.subscription_id.clone().map(link),
                of_link: None,
                expires_at,
            };
            let (payment, effects) = Payment::to_us(terms, amount, self.network, now);
            let payment = payment.returning_to(return_url.clone()).priced(price.clone());
            let payment = Operation::SinglePayment(payment);
            let mut changes = vec![Change::start(stream_id, requester.origin(), payment, effects)];
            // In the same commit: a concurrent closing of the subscription comes either before or after.
            changes.extend(subscription.map(|mut found| {
                let asked = Signal::PaymentRequested(RequestedPayment {
                    request_id: request_id.clone(),
                    until: expires_at.secs(),
                });
                let effects = match found.subscription.step(&Input::Signal(asked), now) {
                    StepResult::Stepped(effects) => effects,
                    StepResult::Ignored => Vec::new(),
                };
                Change::step(found.stream_id, found.version, Operation::Subscription(found.subscription), effects)
            }));
            let started = PricedOperation { stream_id, price: price.clone() };
            let record = once.as_ref().map(|once| once.record(&started, now));
            match self.starter.create_all(changes, record).await? {
                None => return Ok(started),
                // The subscription was stepped meanwhile: it is read again, and may no longer allow the payment.
                Some(Conflict::Revision) => {
                    let mut errors = FieldErrors::default();
                    let named = (request.subscription_id.as_ref(), request.main_key.as_ref());
                    let found = payable_subscription(named, Some(amount), requester, &self.core, &mut errors).await?;
                    subscription = errors.finish(Some(found)).map_err(StartError::Invalid)?;
                }
                Some(Conflict::Correlation(_) | Conflict::InboundSeen | Conflict::AlreadyRequested) => {
                    return Err(StoreError::Unexpected("a random correlation key was there already").into());
                }
            }
        }
    }
}
