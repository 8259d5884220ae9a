use std::sync::Arc;

use serde_json::{Value, json};
use usher_protocol::bolt11::{Invoice, InvoiceError};
use usher_protocol::message::Preimage;

use crate::clock::SharedClock;
use crate::lightning::{
    Account, InvoiceTerms, MakeError, Method, NotAConnection, NwcClient, NwcError, Paid, PayError, State,
};

/// The Lightning account of a user.
#[derive(Clone, Debug)]
pub enum PaymentSource {
    Account(Account),
    /// An account behind a connection string (NIP-47).
    Nwc(Arc<NwcClient>),
}

/// Why a payment or an invoice failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaymentSourceError {
    #[error(transparent)]
    Refused(#[from] PayError),
    #[error(transparent)]
    NotMade(#[from] MakeError),
    #[error(transparent)]
    Nwc(#[from] NwcError),
    #[error("the Lightning wallet returned no valid invoice or proof of payment")]
    NoProof,
    #[error("the invoice {0}")]
    NotAnInvoice(#[from] InvoiceError),
}

impl PaymentSourceError {
    /// Whether certainly nothing was paid.
    pub const fn is_definite(&self) -> bool {
        match self {
            Self::Refused(_) | Self::NotMade(_) | Self::NotAnInvoice(_) => true,
            Self::NoProof => false,
            Self::Nwc(error) => error.is_definite(),
        }
    }
}

impl PaymentSource {
    pub fn connected(url: &str, clock: SharedClock) -> Result<Self, NotAConnection> {
        Ok(Self::Nwc(Arc::new(url.parse::<NwcClient>()?.with_clock(clock))))
    }

    /// The account, if it is in this process.
    pub const fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            Self::Nwc(_) => None,
        }
    }

    /// The balance, in millisats.
    pub async fn balance(&self) -> Result<u64, PaymentSourceError> {
        match self {
            Self::Account(account) => Ok(account.balance()),
            Self::Nwc(client) => {
                let result = client.call(Method::GetBalance, json!({})).await?;
                result["balance"].as_u64().ok_or(PaymentSourceError::Nwc(NwcError::InvalidResponse))
            }
        }
    }

    /// Pays an invoice; `amount` in millisats if the invoice has none. For one that was paid, returns the earlier
    /// payment.
    pub async fn pay(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PaymentSourceError> {
        let parsed: Invoice = invoice.parse()?;
        let amount = amount.filter(|_| parsed.amount().is_none());
        match self {
            Self::Account(account) => account.pay(invoice, amount).or_else(|error| {
                let before = account.outgoing(parsed.payment_hash()).filter(|known| known.state == State::Settled);
                let paid = before.and_then(|known| {
                    let (payment_hash, preimage) = (parsed.payment_hash(), known.preimage?);
                    Some(Paid { payment_hash, preimage, amount: known.amount?, fees_paid: known.fees_paid })
                });
                paid.ok_or(PaymentSourceError::Refused(error))
            }),
            Self::Nwc(client) => {
                let mut params = json!({"invoice": invoice});
                if let (Some(fields), Some(amount)) = (params.as_object_mut(), amount) {
                    fields.insert("amount".to_owned(), amount.into());
                }
                let amount = parsed.amount().or(amount).unwrap_or(0);
                match client.call(Method::PayInvoice, params).await {
                    Ok(result) => proven(&parsed, &result, amount),
                    Err(error) => {
                        let by = json!({"payment_hash": parsed.payment_hash().to_string()});
                        let found = client.call(Method::LookupInvoice, by).await.unwrap_or(Value::Null);
                        let outgoing = found["type"] == "outgoing";
                        proven(&parsed, &found, amount).ok().filter(|_| outgoing).ok_or(PaymentSourceError::Nwc(error))
                    }
                }
            }
        }
    }

    /// Pays an invoice even when it has expired, as some wallets do; over NIP-47 that wallet decides.
    pub async fn pay_late(&self, invoice: &str) -> Result<Paid, PaymentSourceError> {
        match self {
            Self::Account(account) => Ok(account.pay_late(invoice, None)?),
            Self::Nwc(_) => self.pay(invoice, None).await,
        }
    }

    pub async fn make_invoice(&self, terms: &InvoiceTerms) -> Result<Invoice, PaymentSourceError> {
        match self {
            Self::Account(account) => Ok(account.make_invoice(terms)?),
            Self::Nwc(client) => {
                let params = json!({
                    "amount": terms.amount,
                    "description": terms.description,
                    "expiry": terms.expiry,
                });
                let result = client.call(Method::MakeInvoice, params).await?;
                result["invoice"].as_str().and_then(|text| text.parse().ok()).ok_or(PaymentSourceError::NoProof)
            }
        }
    }
}

fn proven(invoice: &Invoice, result: &Value, amount: u64) -> Result<Paid, PaymentSourceError> {
    let preimage: Preimage =
        serde_json::from_value(result["preimage"].clone()).map_err(|_| PaymentSourceError::NoProof)?;
    let payment_hash = invoice.payment_hash();
    if preimage.payment_hash() != payment_hash {
        return Err(PaymentSourceError::NoProof);
    }
    Ok(Paid { payment_hash, preimage, amount, fees_paid: result["fees_paid"].as_u64().unwrap_or(0) })
}
