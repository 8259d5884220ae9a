//! Invoices that are not what was asked for.

use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::PaymentHash;

use super::{Account, Direction, InvoiceTerms, MakeError, mint};

/// How an invoice is not what was asked for. Beside [`OtherNetwork`](Self::OtherNetwork) and
/// [`Garbage`](Self::Garbage) it is a real one that can be paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvoiceLie {
    /// It is for one millisat less.
    LessAmount,
    /// It is for one millisat more.
    MoreAmount,
    /// It leaves the amount to the payer.
    NoAmount,
    /// It is for the Bitcoin main network.
    OtherNetwork,
    /// It was made so long ago that it is expired.
    Expired,
    /// It can be paid for a few seconds only.
    Short,
    /// It is another person's: of an account `stranger` in the same world.
    Foreign,
    /// It is the one that the wallet made before, when it made one.
    Reused,
    /// The answer's `payment_hash` is not the invoice's.
    OtherHash,
    /// It is no invoice.
    Garbage,
}

/// What is handed out for an invoice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The text.
    pub invoice: String,
    /// What is said to be its payment hash.
    pub payment_hash: PaymentHash,
}

impl From<Invoice> for Offered {
    fn from(invoice: Invoice) -> Self {
        Self { invoice: invoice.as_str().to_owned(), payment_hash: invoice.payment_hash() }
    }
}

impl Account {
    /// Makes an invoice as a liar would who was asked for one on these terms.
    ///
    /// # Errors
    /// [`MakeError`].
    pub fn make_falsely(&self, terms: &InvoiceTerms, lie: InvoiceLie) -> Result<Offered, MakeError> {
        let mut terms = terms.clone();
        match lie {
            InvoiceLie::LessAmount => terms.amount = terms.amount.map(|amount| amount.saturating_sub(1)),
            InvoiceLie::MoreAmount => terms.amount = terms.amount.map(|amount| amount.saturating_add(1)),
            InvoiceLie::NoAmount => terms.amount = None,
            InvoiceLie::OtherNetwork => terms.network = Network::Bitcoin,
            InvoiceLie::Expired => {
                let now = self.world().now();
                terms.created_at = Some(now.saturating_sub(terms.expiry.saturating_add(3_600)));
            }
            InvoiceLie::Short => terms.expiry = 3,
            InvoiceLie::Foreign | InvoiceLie::Reused | InvoiceLie::OtherHash | InvoiceLie::Garbage => {}
        }
        let invoice = match lie {
            InvoiceLie::Garbage => {
                let payment_hash = mint::preimage().payment_hash();
                return Ok(Offered { invoice: "lnbcrt1notaninvoice".to_owned(), payment_hash });
            }
            InvoiceLie::Foreign => self.world().open_account("stranger", 0).make_invoice(&terms)?,
            InvoiceLie::Reused => {
                let last = self.transactions().into_iter().find(|known| known.direction == Direction::Incoming);
                last.map_or_else(|| self.make_invoice(&terms), |known| Ok(known.invoice))?
            }
            _ => self.make_invoice(&terms)?,
        };
        let payment_hash = match lie {
            InvoiceLie::OtherHash => mint::preimage().payment_hash(),
            _ => invoice.payment_hash(),
        };
        Ok(Offered { invoice: invoice.as_str().to_owned(), payment_hash })
    }
}
