//! Decrypted messages of the backend. Parsing is lenient about their form, and infers nothing that they do not state.

mod error;
mod transaction;

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use usher_engine::ports::{
    CompletedPayment, InvoiceStatus, LightningError, LightningInfo, LookupCoverage, OutgoingPaymentStatus, Settlement,
};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::PaymentHash;
use usher_protocol::payee;

pub use error::InvalidResponse;
use transaction::{Direction, Proof, Transaction};

/// Longest error text kept, in characters.
const MAX_WORDS: usize = 200;

/// Most methods kept of an announcement.
const MAX_METHODS: usize = 64;

/// The backend's announcement of its abilities (kind 13194).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// It supports NIP-44 encryption.
    pub nip44: bool,
    /// It sends notifications of received payments.
    pub sends_notifications: bool,
    /// The methods it supports.
    pub methods: Vec<String>,
}

impl Announcement {
    /// Parses the content and the tags of the event.
    pub fn read(content: &str, encryption: Option<&str>, notifications: Option<&str>) -> Self {
        let words = |text: Option<&str>| text.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let (encryption, notifications): (Vec<String>, Vec<String>) = (words(encryption), words(notifications));
        Self {
            nip44: encryption.iter().any(|word| word == "nip44_v2"),
            sends_notifications: notifications.iter().any(|word| word == "payment_received"),
            methods: content.split_whitespace().take(MAX_METHODS).map(clean).collect(),
        }
    }
}

/// A response to a request (kind 23195). `Debug` shows no result, because it may contain a preimage.
#[derive(Clone, Deserialize)]
pub struct Response {
    #[serde(default, deserialize_with = "text")]
    result_type: Option<String>,
    #[serde(default, deserialize_with = "error_object")]
    error: Option<ErrorObject>,
    #[serde(default)]
    result: Option<Value>,
    /// Unix seconds at which the backend made it, by its own clock.
    #[serde(skip)]
    created_at: u64,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error.as_ref().map(|error| clean(&error.code));
        f.debug_struct("Response").field("error", &error).finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct ErrorObject {
    code: String,
    message: String,
}

/// A notification (kinds 23196 and 23197).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// An invoice of ours was paid.
    Received(PaymentHash, Settlement),
    /// A payment of ours succeeded.
    Sent(PaymentHash, CompletedPayment),
}

impl Response {
    /// Parses the decrypted text of a response.
    pub fn parse(text: &str) -> Result<Self, InvalidResponse> {
        let mut answer: Self = parse(text)?;
        // Some programs write it as JSON in a string.
        if let Some(Value::String(text)) = &answer.result
            && let Ok(result @ Value::Object(_)) = parse(text)
        {
            answer.result = Some(result);
        }
        let has_result = answer.result.as_ref().is_some_and(|result| !result.is_null());
        // Some programs write a placeholder for no error.
        answer.error = answer.error.filter(|error| !(has_result && error.code.is_empty() && error.message.is_empty()));
        if answer.error.is_none() && !has_result { Err(InvalidResponse) } else { Ok(answer) }
    }

    /// Sets when the backend made it, by its own clock (Unix seconds).
    pub(crate) const fn created_at(mut self, at: u64) -> Self {
        self.created_at = at;
        self
    }

    /// Whether the backend made it at `until` (Unix seconds) or later, by its own clock.
    pub(crate) const fn is_after(&self, until: u64) -> bool {
        self.created_at >= until
    }

    /// Whether the backend reports that it does not know what was looked up.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self.looked_up(), Ok(None))
    }

    /// Whether it is the payee's side of what was looked up.
    pub(crate) fn is_payees_side(&self) -> bool {
        self.looked_up().is_ok_and(|found| found.is_some_and(|found| found.direction() == Some(Direction::Incoming)))
    }

    /// Which of our payments this look-up proves to be found. A transaction not marked as outgoing proves nothing: some
    /// backends find the invoice instead of the payment.
    pub(crate) fn coverage(&self) -> LookupCoverage {
        let Ok(Some(transaction)) = self.looked_up() else { return LookupCoverage::None };
        match transaction.state() {
            _ if transaction.direction() != Some(Direction::Outgoing) => LookupCoverage::None,
            // A backend may list only payments that have ended, so "failed" proves no more than "settled".
            Some("pending") => LookupCoverage::InProgress,
            _ => LookupCoverage::Ended,
        }
    }

    /// The result of `method`.
    ///
    /// # Errors
    /// [`LightningError`]: definite only if the backend's error code proves that nothing was done.
    pub fn result(&self, method: &str) -> Result<&Value, LightningError> {
        // A response to another method proves nothing. Backends omit the type if they could not read the request.
        if self.result_type.as_deref().is_some_and(|result_type| !result_type.eq_ignore_ascii_case(method)) {
            return Err(unclear());
        }
        match (&self.error, &self.result) {
            (Some(error), _) => Err(error.to_error()),
            (None, Some(result)) => Ok(result),
            (None, None) => Err(unclear()),
        }
    }

    /// The transaction looked up; `None` if the backend reports that it does not know it.
    fn looked_up(&self) -> Result<Option<Transaction<'_>>, LightningError> {
        match self.result("lookup_invoice") {
            Ok(result) => Ok(Some(Transaction(result))),
            Err(LightningError::Refused { .. })
                if self.error.as_ref().is_some_and(|error| error.code == "NOT_FOUND") =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The result of `make_invoice`.
    pub fn invoice(&self) -> Result<Invoice, LightningError> {
        let result = self.result("make_invoice")?;
        let text = Transaction(result).text("invoice").map(payee::plain).ok_or_else(unclear)?;
        let refused = |reason: &str| LightningError::Refused { again: false, reason: reason.to_owned() };
        let invoice: Invoice = text.parse().map_err(|_| refused("the backend made an invalid invoice"))?;
        match Transaction(result).payment_hash() {
            Some(hash) if hash != invoice.payment_hash() => {
                Err(refused("the invoice has another payment hash than the backend states"))
            }
            _ => Ok(invoice),
        }
    }

    /// The result of `lookup_invoice` for an invoice of ours.
    pub fn invoice_status(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        let Some(transaction) = self.looked_up()? else { return Ok(InvoiceStatus::Unknown) };
        if !transaction.is_about(hash) {
            return Err(unclear());
        }
        let is_incoming = transaction.may_be(Direction::Incoming);
        if transaction.is_settled() {
            return Ok(match (transaction.proof(hash), transaction.amount()) {
                // If the backend's own user paid it, it may return the payer's side. The preimage is proof either way.
                (proof, Ok(amount)) if is_incoming || matches!(proof, Proof::Valid(_)) => {
                    InvoiceStatus::Settled(transaction.settlement(amount, proof))
                }
                _ => InvoiceStatus::Disputed,
            });
        }
        match transaction.state() {
            // The payer's side does not show what else may pay the invoice.
            _ if !is_incoming => Err(unclear()),
            Some("expired" | "failed") => Ok(InvoiceStatus::Dead),
            _ => Ok(InvoiceStatus::Open),
        }
    }

    /// The result of `lookup_invoice` for a payment of ours.
    pub fn outgoing_status(&self, hash: PaymentHash) -> Result<OutgoingPaymentStatus, LightningError> {
        let Some(transaction) = self.looked_up()? else {
            return Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None));
        };
        if !transaction.is_about(hash) {
            return Err(unclear());
        }
        if !transaction.may_be(Direction::Outgoing) {
            // An invoice of the backend's own. If settled, it was paid; otherwise it shows nothing about the payment.
            return Ok(match transaction.proof(hash) {
                _ if !transaction.is_settled() => OutgoingPaymentStatus::Unknown(LookupCoverage::None),
                Proof::Valid(preimage) => OutgoingPaymentStatus::Paid(CompletedPayment { preimage, fees_paid: None }),
                Proof::Wrong(_) | Proof::None => OutgoingPaymentStatus::Unproven,
            });
        }
        Ok(match (transaction.state(), transaction.proof(hash)) {
            (Some("failed"), Proof::None | Proof::Wrong(_)) => OutgoingPaymentStatus::Failed,
            (Some("settled") | None, Proof::Valid(preimage) | Proof::Wrong(preimage)) => {
                OutgoingPaymentStatus::Paid(CompletedPayment { preimage, fees_paid: transaction.number("fees_paid") })
            }
            (Some("failed" | "expired"), _) => OutgoingPaymentStatus::Unproven,
            _ if transaction.is_settled() => OutgoingPaymentStatus::Unproven,
            _ => OutgoingPaymentStatus::Pending,
        })
    }

    /// The result of `pay_invoice`.
    pub fn paid(&self) -> Result<CompletedPayment, LightningError> {
        let result = Transaction(self.result("pay_invoice")?);
        let preimage = result.preimage().ok_or_else(unclear)?;
        Ok(CompletedPayment { preimage, fees_paid: result.number("fees_paid") })
    }

    /// The result of `get_balance`, in millisats.
    pub fn balance(&self) -> Result<u64, LightningError> {
        Transaction(self.result("get_balance")?).number("balance").ok_or_else(unclear)
    }

    /// The result of `get_info`, without the balance.
    pub fn info(&self) -> Result<LightningInfo, LightningError> {
        let result = self.result("get_info")?;
        let methods = result.get("methods").and_then(Value::as_array);
        Ok(LightningInfo {
            alias: Transaction(result).text("alias").map(clean),
            network: match Transaction(result).text("network") {
                Some("mainnet" | "bitcoin") => Some(Network::Bitcoin),
                Some("testnet" | "testnet3" | "testnet4") => Some(Network::Testnet),
                Some("signet" | "mutinynet") => Some(Network::Signet),
                Some("regtest") => Some(Network::Regtest),
                _ => None,
            },
            balance: None,
            methods: methods
                .map(|methods| methods.iter().filter_map(Value::as_str).take(MAX_METHODS).map(clean).collect())
                .unwrap_or_default(),
        })
    }
}

impl ErrorObject {
    /// Definite for the error codes of NIP-47 that exclude execution. `INTERNAL`, `OTHER` and unknown ones are not.
    fn to_error(&self) -> LightningError {
        let reason = || {
            let (code, message) = (clean(&self.code), clean(&self.message));
            match (message.as_str(), code.as_str()) {
                ("", _) => code,
                (_, "") => message,
                _ => format!("{message} ({code})"),
            }
        };
        match self.code.as_str() {
            // A backend that changed its encryption announces it, and the next request uses it.
            "RATE_LIMITED" | "INSUFFICIENT_BALANCE" | "QUOTA_EXCEEDED" | "UNSUPPORTED_ENCRYPTION" => {
                LightningError::Refused { again: true, reason: reason() }
            }
            "RESTRICTED" | "UNAUTHORIZED" | "NOT_IMPLEMENTED" | "NOT_FOUND" => {
                LightningError::Refused { again: false, reason: reason() }
            }
            // "This may be due to a timeout" (NIP-47): the code alone is no proof.
            "PAYMENT_FAILED" => LightningError::Failed(reason()),
            _ => LightningError::Unknown(reason()),
        }
    }
}

impl Notification {
    /// Parses the decrypted text of a notification; `None` for unneeded ones.
    pub fn parse(text: &str) -> Result<Option<Self>, InvalidResponse> {
        #[derive(Deserialize)]
        struct Raw {
            notification_type: String,
            #[serde(default)]
            notification: Value,
        }
        let raw: Raw = parse(text)?;
        let transaction = Transaction(&raw.notification);
        let hash = || transaction.payment_hash().ok_or(InvalidResponse);
        let is_proven = || hash().is_ok_and(|hash| matches!(transaction.proof(hash), Proof::Valid(_)));
        let is_over = !matches!(transaction.state(), Some("pending" | "accepted" | "expired" | "failed"));
        match raw.notification_type.as_str() {
            "payment_received" if is_over && (transaction.may_be(Direction::Incoming) || is_proven()) => {
                let hash = hash()?;
                let settlement = match transaction.amount() {
                    Ok(amount) => transaction.settlement(amount, transaction.proof(hash)),
                    // Without a preimage, it only triggers a look-up.
                    Err(InvalidResponse) => transaction.settlement(None, Proof::None),
                };
                Ok(Some(Self::Received(hash, settlement)))
            }
            "payment_sent" if is_over && transaction.may_be(Direction::Outgoing) => {
                let preimage = transaction.preimage().ok_or(InvalidResponse)?;
                let paid = CompletedPayment { preimage, fees_paid: transaction.number("fees_paid") };
                Ok(Some(Self::Sent(hash()?, paid)))
            }
            // Contradictory content.
            "payment_received" | "payment_sent" => Err(InvalidResponse),
            _ => Ok(None),
        }
    }
}

/// An error object, or a placeholder for none.
fn error_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ErrorObject>, D::Error> {
    let error = Value::deserialize(deserializer)?;
    let is_one = !matches!(error, Value::Null | Value::Bool(false) | Value::Array(_));
    let field = |name| error.get(name).and_then(words).unwrap_or_default();
    Ok(match &error {
        Value::Object(_) => Some(ErrorObject { code: field("code"), message: field("message") }),
        _ if is_one => words(&error).map(|message| ErrorObject { code: String::new(), message }),
        _ => None,
    })
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
}

/// The error text, unless it is a placeholder for none.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.trim().is_empty() || text.eq_ignore_ascii_case("null") => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()).filter(|number| number != "0"),
        Value::Bool(true) => Some("an error".to_owned()),
        Value::Null | Value::Bool(false) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses JSON, tolerating a byte order mark and a trailing NUL.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, InvalidResponse> {
    serde_json::from_str(text.trim_start_matches('\u{feff}').trim_end_matches('\0')).map_err(|_| InvalidResponse)
}

fn unclear() -> LightningError {
    LightningError::Unknown(InvalidResponse.to_string())
}

/// Text of the backend, shortened and without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests;
