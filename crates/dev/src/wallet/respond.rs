//! Answering a request and showing the result.

use serde_json::{Value, json};
use usher_sandbox::amounts::{millisats, tickets};
use usher_sandbox::wallet::{Agreement, Fulfilled, Request, RequestContent, Verdict, Wallet, WalletError};

use super::{CliError, display};

/// The text for a declined request for which the protocol has no such reply.
pub(crate) const NOTHING_SENT: &str = ": nothing was sent, as the protocol has no reply for it";

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Approve {
        /// The authorized amount of a subscription, in millisats.
        amount: Option<u64>,
    },
    Decline(Option<String>),
    Fail(Option<String>),
}

pub(crate) struct SentReply<'a> {
    verdict: Verdict,
    request: &'a Request,
    fulfilled: Fulfilled,
}

impl Reply {
    pub(crate) async fn give<'a>(&self, wallet: &Wallet, request: &'a Request) -> Result<SentReply<'a>, CliError> {
        let (verdict, fulfilled) = match self {
            Self::Approve { amount: Some(amount) } if matches!(request.content, RequestContent::Recurring(_)) => {
                let terms = Agreement { amount: Some(*amount) };
                (Verdict::Approved, wallet.agree(request, &terms)?)
            }
            Self::Approve { .. } => {
                let fulfilled = wallet.fulfil(request).await.map_err(explain)?;
                let insufficient = fulfilled.insufficient_funds;
                (if insufficient { Verdict::InsufficientFunds } else { Verdict::Approved }, fulfilled)
            }
            // The protocol has no message that declines these.
            Self::Decline(_) if matches!(request.content, RequestContent::Invoice(_) | RequestContent::Token(_)) => {
                (Verdict::Declined, Fulfilled::default())
            }
            Self::Decline(reason) => {
                (Verdict::Declined, Fulfilled::replied(wallet.decline(request, reason.as_deref())?))
            }
            Self::Fail(reason) => (Verdict::Failed, Fulfilled::replied(wallet.fail(request, reason.as_deref())?)),
        };
        Ok(SentReply { verdict, request, fulfilled })
    }
}

/// The same error, with advice if available.
fn explain(error: WalletError) -> CliError {
    match error {
        WalletError::NoPaymentSource => CliError::NoPaymentSource,
        error => error.into(),
    }
}

impl SentReply<'_> {
    pub(crate) const fn verdict(&self) -> Verdict {
        self.verdict
    }

    pub(crate) const fn fulfilled(&self) -> &Fulfilled {
        &self.fulfilled
    }

    const fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Approved => "approved",
            Verdict::InsufficientFunds => "insufficient_funds",
            Verdict::Declined => "declined",
            Verdict::Failed => "failed",
        }
    }

    /// The text for people; `more` says whether a relay confirmed the event.
    pub(super) fn text(&self, more: &str) -> String {
        let mut text = match self.verdict {
            Verdict::InsufficientFunds => format!("insufficient funds for {}", display::short(self.request)),
            _ => format!("{} {} ({})", self.word(), display::short(self.request), self.request.content.summary()),
        };
        if self.verdict == Verdict::Declined && self.fulfilled.event.is_none() {
            text.push_str(NOTHING_SENT);
        }
        if let Some(paid) = &self.fulfilled.paid {
            text.push_str(&format!(": paid {} (fee: {})", millisats(paid.amount), millisats(paid.fees_paid)));
        }
        if let Some(invoice) = &self.fulfilled.invoice {
            text.push_str(&format!(": sent {invoice}"));
        }
        if let Some(subscription) = &self.fulfilled.subscription {
            text.push_str(&format!(": subscription {}", subscription.id));
        }
        if let Some(given) = &self.fulfilled.given {
            text.push_str(&format!(": gave {}", tickets(given.amount, &given.unit, &given.mint_url)));
        }
        if let Some(received) = &self.fulfilled.received {
            text.push_str(&format!(": took {}", tickets(received.amount, &received.unit, &received.mint_url)));
        }
        text + more
    }

    pub(super) fn json(&self, confirmed: bool) -> Value {
        let mut value = json!({
            "event": self.word(),
            "id": self.request.id,
            "nostr_event": self.fulfilled.event.as_ref().map(|event| event.id.to_hex()),
            "confirmed": confirmed,
        });
        let Some(fields) = value.as_object_mut() else { return value };
        if let Some(paid) = &self.fulfilled.paid {
            fields.insert("amount".to_owned(), paid.amount.into());
            fields.insert("fees_paid".to_owned(), paid.fees_paid.into());
            fields.insert("preimage".to_owned(), paid.preimage.to_hex().into());
        }
        if let Some(invoice) = &self.fulfilled.invoice {
            fields.insert("invoice".to_owned(), invoice.as_str().into());
        }
        if let Some(subscription) = &self.fulfilled.subscription {
            fields.insert("subscription_id".to_owned(), subscription.id.as_str().into());
        }
        if let Some(given) = &self.fulfilled.given {
            fields.insert("ticket".to_owned(), given.id.as_str().into());
        }
        if let Some(received) = &self.fulfilled.received {
            fields.insert("amount".to_owned(), received.amount.into());
            fields.insert("unit".to_owned(), received.unit.as_str().into());
            fields.insert("mint_url".to_owned(), received.mint_url.as_str().into());
        }
        value
    }
}
