//! Invoices that do not match the request.

use usher_protocol::bolt11::Network;
use usher_protocol::message::PaymentHash;

use usher_sandbox::lightning::{Account, Direction, InvoiceTerms, MakeError};

use super::unrelated_preimage::unrelated_preimage;

/// How an invoice differs from the request. Except for [`OtherNetwork`](Self::OtherNetwork) and
/// [`Garbage`](Self::Garbage), it is a real invoice that can be paid.
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
    /// It is another person's: of an account `stranger` in the same network.
    Foreign,
    /// It is the previous invoice of the wallet, if there is one.
    Reused,
    /// The answer's `payment_hash` is not the invoice's.
    OtherHash,
    /// It is no invoice.
    Garbage,
}

/// An invoice that does not match the request.
pub(super) struct FalseInvoice {
    /// The text.
    pub(super) invoice: String,
    /// What is claimed to be its payment hash.
    pub(super) payment_hash: PaymentHash,
}

/// Makes a false invoice for a request with these terms.
pub(super) fn false_invoice(
    account: &Account,
    terms: &InvoiceTerms,
    lie: InvoiceLie,
) -> Result<FalseInvoice, MakeError> {
    let mut terms = terms.clone();
    match lie {
        InvoiceLie::LessAmount => terms.amount = terms.amount.map(|amount| amount.saturating_sub(1)),
        InvoiceLie::MoreAmount => terms.amount = terms.amount.map(|amount| amount.saturating_add(1)),
        InvoiceLie::NoAmount => terms.amount = None,
        InvoiceLie::OtherNetwork => terms.network = Network::Bitcoin,
        InvoiceLie::Expired => {
            let now = account.now();
            terms.created_at = Some(now.saturating_sub(terms.expiry.saturating_add(3_600)));
        }
        InvoiceLie::Foreign | InvoiceLie::Reused | InvoiceLie::OtherHash | InvoiceLie::Garbage => {}
    }
    let invoice = match lie {
        InvoiceLie::Garbage => {
            let payment_hash = unrelated_preimage().payment_hash();
            return Ok(FalseInvoice { invoice: "lnbcrt1notaninvoice".to_owned(), payment_hash });
        }
        InvoiceLie::Foreign => account.sibling("stranger", 0).make_invoice(&terms)?,
        InvoiceLie::Reused => {
            let last = account.transactions().into_iter().find(|known| known.direction == Direction::Incoming);
            last.map_or_else(|| account.make_invoice(&terms), |known| Ok(known.invoice))?
        }
        _ => account.make_invoice(&terms)?,
    };
    let payment_hash = match lie {
        InvoiceLie::OtherHash => unrelated_preimage().payment_hash(),
        _ => invoice.payment_hash(),
    };
    Ok(FalseInvoice { invoice: invoice.as_str().to_owned(), payment_hash })
}
