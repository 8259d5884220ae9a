//! Executing what is asked, truly or not.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, Preimage};

use super::behaviour::{Behaviour, LookupLie, PayLie};
use super::wire::{self, Call, ListParams, LookupParams, MakeParams, PayParams, Refusal};
use super::{ErrorCode, Method};
use crate::lightning::{
    Account, Direction, InvoiceLie, InvoiceTerms, MakeError, Offered, Paid, PayError, State, Transaction, mint,
};

/// Seconds an invoice can be paid unless the app says otherwise.
const EXPIRY: u64 = 3_600;

/// Most transactions that are listed at once: an event has 64 KiB.
const LIST_LIMIT: usize = 50;

/// What came of a call.
pub(super) enum Outcome {
    /// It is done, or refused.
    Done(Result<Value, Refusal>),
    /// A payment is in flight.
    InFlight(PaymentHash),
}

/// Executes calls on an account.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) account: Account,
}

impl Desk {
    pub(super) fn new(account: Account) -> Self {
        Self { account }
    }

    pub(super) fn execute(&self, method: Method, call: &Call, behaviour: &Behaviour) -> Outcome {
        let done = match method {
            Method::MakeInvoice => params(call).and_then(|params| self.make(params, behaviour.invoices)),
            Method::LookupInvoice => params(call).and_then(|params| self.look_up(&params, behaviour.lookups)),
            Method::PayInvoice => match params(call) {
                Ok(params) => return self.pay(&params, behaviour),
                Err(refusal) => Err(refusal),
            },
            Method::GetBalance => Ok(json!({"balance": self.account.balance()})),
            Method::GetInfo => Ok(self.info(behaviour)),
            Method::ListTransactions => params(call).map(|params| self.list(&params)),
        };
        Outcome::Done(done)
    }

    fn make(&self, params: MakeParams, lie: Option<InvoiceLie>) -> Result<Value, Refusal> {
        let terms = InvoiceTerms::of(params.amount)
            .described(params.description.unwrap_or_default())
            .for_seconds(params.expiry.unwrap_or(EXPIRY));
        let made = match lie {
            Some(lie) => self.account.make_falsely(&terms, lie),
            None => self.account.make_invoice(&terms).map(Offered::from),
        };
        let offered = made.map_err(|error| match error {
            MakeError::Full => Refusal::new(ErrorCode::Internal, error.to_string()),
            _ => Refusal::new(ErrorCode::Other, error.to_string()),
        })?;
        let Ok(invoice) = offered.invoice.parse::<Invoice>() else {
            return Ok(json!({"type": "incoming", "invoice": offered.invoice}));
        };
        let mut value = wire::transaction(&Transaction {
            direction: Direction::Incoming,
            state: State::Pending,
            amount: invoice.amount(),
            preimage: None,
            fees_paid: 0,
            created_at: self.account.world().now(),
            settled_at: None,
            invoice,
        });
        set(&mut value, "payment_hash", offered.payment_hash.to_string().into());
        Ok(value)
    }

    fn look_up(&self, params: &LookupParams, lie: Option<LookupLie>) -> Result<Value, Refusal> {
        let not_found = || Refusal::new(ErrorCode::NotFound, "no such invoice");
        let hash = match (&params.payment_hash, &params.invoice) {
            (Some(hash), _) => *hash,
            (None, Some(invoice)) => invoice.parse::<Invoice>().map_err(|_| not_found())?.payment_hash(),
            (None, None) => return Err(Refusal::new(ErrorCode::Other, "neither payment_hash nor invoice")),
        };
        let found = self.account.incoming(hash).or_else(|| self.account.outgoing(hash)).ok_or_else(not_found)?;
        let mut value = wire::transaction(&found);
        match lie {
            None => {}
            Some(LookupLie::Forget) => return Err(not_found()),
            Some(LookupLie::ForgetPayments) if found.direction == Direction::Outgoing => return Err(not_found()),
            Some(LookupLie::PaymentsAsInvoices) => set(&mut value, "type", "incoming".into()),
            Some(LookupLie::ForgetPayments) => {}
            Some(LookupLie::Settled) => claim_settled(&mut value, &found, None),
            Some(LookupLie::SettledWithWrongPreimage) => claim_settled(&mut value, &found, Some(mint::preimage())),
            Some(LookupLie::Pending) => claim_unsettled(&mut value, State::Pending),
            Some(LookupLie::Failed) => claim_unsettled(&mut value, State::Failed),
            Some(LookupLie::Expired) => claim_unsettled(&mut value, State::Expired),
            Some(LookupLie::OtherHash) => {
                set(&mut value, "payment_hash", mint::preimage().payment_hash().to_string().into());
            }
        }
        Ok(value)
    }

    fn pay(&self, params: &PayParams, behaviour: &Behaviour) -> Outcome {
        if behaviour.pays == Some(PayLie::Pretend) {
            return Outcome::Done(Ok(json!({"preimage": mint::preimage().to_hex(), "fees_paid": 0})));
        }
        if behaviour.holds_payments {
            return match self.account.begin(&params.invoice, params.amount) {
                Ok(hash) => Outcome::InFlight(hash),
                Err(error) => Outcome::Done(Err(refused(error))),
            };
        }
        let paid = self.account.pay(&params.invoice, params.amount).map_err(refused);
        Outcome::Done(paid.map(|paid| receipt(&paid, behaviour)))
    }

    fn info(&self, behaviour: &Behaviour) -> Value {
        json!({
            "alias": self.account.name(),
            "color": "#f7931a",
            "pubkey": self.account.node_id().map(|key| key.to_string()),
            "network": network(behaviour.network),
            "block_height": 101,
            "block_hash": "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
            "methods": behaviour.offers.iter().map(|method| method.as_str()).collect::<Vec<_>>(),
            "notifications": notifications(behaviour),
        })
    }

    fn list(&self, params: &ListParams) -> Value {
        let all = self.account.transactions();
        let unpaid = params.unpaid.unwrap_or(false);
        let fits = |transaction: &&Transaction| {
            params.from.is_none_or(|from| transaction.created_at >= from)
                && params.until.is_none_or(|until| transaction.created_at <= until)
                && params.direction.is_none_or(|direction| transaction.direction == direction)
                && (unpaid || transaction.state == State::Settled)
        };
        let fitting = all.iter().filter(fits).skip(params.offset.unwrap_or(0));
        let listed = fitting.take(params.limit.unwrap_or(LIST_LIMIT).min(LIST_LIMIT));
        json!({"transactions": listed.map(wire::transaction).collect::<Vec<_>>()})
    }
}

/// The answer to a payment that arrived.
pub(super) fn receipt(paid: &Paid, behaviour: &Behaviour) -> Value {
    let preimage = match behaviour.pays {
        Some(PayLie::WrongPreimage) => mint::preimage(),
        Some(PayLie::Pretend) | None => paid.preimage,
    };
    json!({"preimage": preimage.to_hex(), "fees_paid": paid.fees_paid})
}

/// NIP-47's word for a network.
const fn network(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "mainnet",
        Network::Testnet | Network::Signet | Network::Regtest => network.as_str(),
    }
}

/// The notifications that are offered.
pub(super) fn notifications(behaviour: &Behaviour) -> &'static [&'static str] {
    if behaviour.notifications { &["payment_received", "payment_sent"] } else { &[] }
}

fn params<T: DeserializeOwned>(call: &Call) -> Result<T, Refusal> {
    let params = if call.params.is_null() { json!({}) } else { call.params.clone() };
    serde_json::from_value(params).map_err(|error| Refusal::new(ErrorCode::Other, format!("wrong parameters: {error}")))
}

fn refused(error: PayError) -> Refusal {
    let code = match error {
        PayError::InsufficientBalance => ErrorCode::InsufficientBalance,
        PayError::NotAnInvoice(_) | PayError::AmountMissing | PayError::OtherAmount => ErrorCode::Other,
        _ => ErrorCode::PaymentFailed,
    };
    Refusal::new(code, error.to_string())
}

fn claim_settled(value: &mut Value, found: &Transaction, preimage: Option<Preimage>) {
    set(value, "state", wire::state(State::Settled).into());
    if found.settled_at.is_none() {
        set(value, "settled_at", found.created_at.into());
    }
    if let Some(preimage) = preimage {
        set(value, "preimage", preimage.to_hex().into());
    }
}

fn claim_unsettled(value: &mut Value, state: State) {
    set(value, "state", wire::state(state).into());
    if let Some(fields) = value.as_object_mut() {
        fields.remove("settled_at");
        fields.remove("preimage");
    }
}

fn set(value: &mut Value, field: &str, to: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), to);
    }
}
