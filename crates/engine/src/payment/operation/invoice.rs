//! An invoice of the service: created by the Lightning backend, validated, and looked up.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use usher_protocol::bolt11::{Invoice, Network};

use super::{InvoiceSource, Payment, Phase, Received, WITHDRAWN};
use crate::UnixMillis;
use crate::machine::{Effect, LightningRequest, StateMachine as _, StepResult, lease};
use crate::ports::{InvoiceStatus, LightningError, Settlement, WantedInvoice};

const WHOLE_SATS: &str = "the amount has a fraction of a sat, and many wallets take whole sats only";

/// How much older than its request an invoice may appear.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(900);

impl Payment {
    pub(super) fn make_invoice(&self, now: UnixMillis) -> Effect {
        // Whole seconds, as in the invoice: it must not expire before the request does.
        let expiry = self.expires_at.secs().saturating_sub(now.secs()).max(1);
        Effect::CallLightning(LightningRequest::MakeInvoice(WantedInvoice {
            amount: self.amount,
            description: self.description.clone(),
            hashed: self.hashed_text().map(str::to_owned),
            is_for_anybody: self.of_link.is_some(),
            expiry: u32::try_from(expiry).unwrap_or(u32::MAX),
        }))
    }

    pub(super) fn made(&mut self, made: &Result<Invoice, LightningError>, now: UnixMillis) -> StepResult {
        let (Phase::Making { tries, give_up, .. }, InvoiceSource::Own { network, .. }) = (&self.phase, &self.source)
        else {
            return StepResult::Ignored;
        };
        if self.withdrawn {
            return self.fail(WITHDRAWN, now);
        }
        let (tries, give_up, network) = (*tries, *give_up, *network);
        let invoice = match made {
            Ok(invoice) => invoice,
            Err(LightningError::Refused { again: false, reason } | LightningError::Failed(reason)) => {
                return self.fail(&format!("the wallet made no invoice: {reason}"), now);
            }
            // Many backends only create invoices of whole sats, and refuse others with an unspecific code.
            Err(LightningError::Unknown(reason)) if self.has_fraction_of_sat() => {
                return self.fail(&format!("the wallet made no invoice ({WHOLE_SATS}): {reason}"), now);
            }
            Err(failure) => {
                let next = now.plus(again_after(tries, self.is_charge()));
                if next >= give_up {
                    return self.fail(&format!("no invoice could be made: {failure}"), now);
                }
                self.phase = Phase::Making { tries, next, give_up };
                return StepResult::Stepped(Vec::new());
            }
        };
        if let Some(fault) = self.fault_of(invoice, network, now) {
            let fault = if self.has_fraction_of_sat() { format!("{fault} ({WHOLE_SATS})") } else { fault.to_owned() };
            return self.fail(&format!("the wallet made an invoice that does not fit: {fault}"), now);
        }
        self.source = InvoiceSource::Own { network, invoice: Some(invoice.clone()) };
        // The backend may have chosen a shorter expiry than requested.
        self.expires_at = self.expires_at.min(UnixMillis::from_secs(invoice.expires_at()));
        self.phase = Phase::Asking;
        StepResult::Stepped(self.ask(invoice).into_iter().collect())
    }

    const fn has_fraction_of_sat(&self) -> bool {
        !self.amount.is_multiple_of(1000)
    }

    pub(super) fn fault_of(&self, invoice: &Invoice, network: Network, now: UnixMillis) -> Option<&'static str> {
        let made_at = UnixMillis::from_secs(invoice.created_at()).plus(MAX_CLOCK_SKEW);
        if invoice.amount() != Some(self.amount) {
            Some("another amount")
        } else if invoice.network() != network {
            Some("another network")
        } else if self.has_other_hash(invoice) {
            Some("the hash of another description")
        } else if invoice.is_expired(now.secs()) {
            Some("expired")
        } else if self.asked_at.is_some_and(|asked_at| made_at < asked_at) {
            Some("older than the request")
        } else {
            None
        }
    }

    /// Whether the invoice lacks the requested hash. One with a description instead can still be paid, though not with
    /// every wallet.
    fn has_other_hash(&self, invoice: &Invoice) -> bool {
        let wanted = self.hashed_text().map(|text| <[u8; 32]>::from(Sha256::digest(text)));
        wanted.zip(invoice.description_hash()).is_some_and(|(wanted, made)| wanted != *made)
    }

    pub(super) fn close(&mut self, give_up: UnixMillis, now: UnixMillis) -> StepResult {
        self.phase = Phase::Closing { next: lease(now), give_up };
        let look_up = self.watched().map(|hash| Effect::CallLightning(LightningRequest::LookUpInvoice(hash)));
        StepResult::Stepped([Effect::ClearOutbox].into_iter().chain(look_up).collect())
    }

    pub(super) fn looked_up(&mut self, status: &Result<InvoiceStatus, LightningError>, now: UnixMillis) -> StepResult {
        if let Ok(InvoiceStatus::Settled(settlement)) = status
            && let settled @ StepResult::Stepped(_) = self.settled(settlement, now)
        {
            return settled;
        }
        if self.watched().is_none() {
            return StepResult::Ignored;
        }
        let before = self.disputed;
        self.disputed = match status {
            Ok(InvoiceStatus::Settled(_) | InvoiceStatus::Disputed) => true,
            Ok(InvoiceStatus::Open | InvoiceStatus::Dead) => false,
            Ok(InvoiceStatus::Unknown) | Err(_) => before,
        };
        match (&self.phase, status) {
            (Phase::Closing { give_up, .. }, Err(_) | Ok(InvoiceStatus::Settled(_) | InvoiceStatus::Disputed)) => {
                self.phase = Phase::Closing { next: now.plus(Duration::from_secs(5)), give_up: *give_up };
                StepResult::Stepped(Vec::new())
            }
            (Phase::Closing { .. }, Ok(_)) => self.time_out(now),
            (Phase::Leaving { .. }, Ok(InvoiceStatus::Open | InvoiceStatus::Dead | InvoiceStatus::Unknown)) => {
                self.leave(now)
            }
            _ if self.disputed != before => StepResult::Stepped(Vec::new()),
            _ => StepResult::Ignored,
        }
    }

    /// Handles a settlement reported by the Lightning backend. Too small an amount, or a preimage of another hash, does
    /// not settle the invoice. The liquidity provider's deduction counts as paid.
    pub(super) fn settled(&mut self, settlement: &Settlement, now: UnixMillis) -> StepResult {
        let Some(hash) = self.watched() else { return StepResult::Ignored };
        // Not `self.amount`, which is another one once a further invoice was paid.
        let asked = match &self.source {
            InvoiceSource::Own { invoice: Some(invoice), .. } => invoice.amount().unwrap_or(self.amount),
            _ => self.amount,
        };
        // Backends that count whole sats drop the rest.
        let whole = asked - asked % 1000;
        let amount = settlement.amount.unwrap_or(asked);
        // If the amount suffices without the fee, it includes it.
        let contained = if amount >= whole { settlement.fees_paid.min(amount) } else { 0 };
        let beside = if amount >= whole { 0 } else { settlement.fees_paid };
        let skimmed_fee = settlement.skimmed_fee.saturating_add(contained).saturating_add(beside);
        let received = Received { amount: amount - contained, skimmed_fee };
        let enough = received.amount.saturating_add(received.skimmed_fee) >= whole;
        let fits = settlement.preimage.is_none_or(|preimage| preimage.payment_hash() == hash);
        let preimage = settlement.preimage.or(self.shown);
        if !enough || !fits {
            return StepResult::Ignored;
        }
        self.is_first_paid = self.paid_by.is_some();
        self.proven(preimage.as_ref(), Some(received), now)
    }
}

/// The pause before the next attempt: 1, 2, 4, 8, 8, … s and after a minute 60 s; for charges 2, 4, … 32, 60, 60, … s.
fn again_after(tries: u32, unattended: bool) -> Duration {
    match tries {
        _ if unattended => Duration::from_secs((1 << tries.min(6)).min(60)),
        0..10 => Duration::from_secs(1 << tries.saturating_sub(1).min(3)),
        10.. => Duration::from_secs(60),
    }
}
