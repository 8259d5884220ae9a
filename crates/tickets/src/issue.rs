//! Attempts of a mint job: request a quote, wait for its payment, mint.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use cashu::nuts::nut23::QuoteState;
use cashu::{Bolt11Invoice, CurrencyUnit, MintQuoteBolt11Request, MintQuoteBolt11Response};
use usher_engine::UnixMillis;
use usher_engine::ports::MintTerms;

use crate::attempt_history::{Attempt, Attempts, wrong};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::mint_address::normal_unit;
use crate::mint_error::MintError;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::running_jobs::{Entry, Progress};
use crate::stored_job::{Job, Minting, Stage};
use crate::swap::{SIGNED_BEFORE, no_new_outputs};

const MAX_QUOTE_BYTES: usize = 256;

const MAX_INVOICE_BYTES: usize = 4096;

/// Pauses between the first checks of an unpaid quote, before the caller is asked to pay: a mint that pays its own quotes may
/// take a moment.
const OWN_PAYMENT: [Duration; 3] = [Duration::from_millis(200), Duration::from_millis(400), Duration::from_millis(800)];

/// The shortest and longest pause between two checks of an unpaid quote. The pause grows with the quote's age, to limit the
/// load of many unpaid quotes on the mint. A caller who asks for the job causes a check at once.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
const LATER_POLL_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Divides a quote's age to give the pause until its next check.
const LOOKS_PER_AGE: u32 = 8;

/// How long after the expiry of a quote a payment may still arrive.
const LATE_PAYMENT: Duration = Duration::from_secs(24 * 60 * 60);

/// The lifetime of a quote without expiry.
const QUOTE_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after the quote a job continues although the mint refuses to mint a paid quote, or has no signatures for an
/// issued one: the mint may be repaired.
const PAID_PATIENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Core {
    /// Requests a quote and prepares the outputs. A failure loses nothing: the quote is unpaid.
    pub(crate) async fn quote(&self, entry: &Entry, job: &Job, terms: &MintTerms) -> Result<Attempt, AttemptError> {
        if !entry.is_awaited() {
            // After a restart, or when no caller waits any more.
            return self.fail(job, Failure::TimedOut, true).await;
        }
        match self.try_quote(job, terms).await {
            Ok(attempt) => Ok(attempt),
            Err(AttemptError::Mint(error)) => self.fail(job, error.into(), true).await,
            Err(AttemptError::Refused(Refusal::Failure(failure))) => self.fail(job, failure, true).await,
            Err(halt) => Err(halt),
        }
    }

    async fn try_quote(&self, job: &Job, terms: &MintTerms) -> Result<Attempt, AttemptError> {
        let mint = self.mints.get(&terms.mint_url)?;
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        let unit = normal_unit(&terms.unit);
        let support = mint.keysets.support().await?;
        let (info, keys) = self.keyset_for_outputs(&mint, &unit).await?;
        crate::outputs::split(terms.amount, &keys).map_err(Refusal::from)?;
        let request = MintQuoteBolt11Request {
            amount: terms.amount.into(),
            unit: CurrencyUnit::from_str(&unit).unwrap_or_else(|_| CurrencyUnit::custom(&unit)),
            description: terms.description.clone().filter(|_| support.description),
            pubkey: None,
        };
        edge!("tickets-before-quote");
        let quote = mint.client.quote(&request, terms.auth.as_ref()).await?;
        edge!("tickets-after-quote");
        check_quote(&quote, terms.amount, &unit)?;
        let _preparing = mint.preparing.lock().await;
        let (outputs, counter) =
            self.prepare(&mint, &info, &keys, &[(terms.amount, Owner::Holder)], terms.auth.as_ref()).await?;
        let minting = Minting {
            terms: terms.clone(),
            quote: quote.quote,
            invoice: quote.request,
            expires_at: quote.expiry.filter(|at| *at > 0),
            unpaid_seen: quote.state == QuoteState::Unpaid,
            quoted_at: self.now().secs(),
            outputs,
        };
        edge!("tickets-before-quoted");
        let stage = Stage::Quoted(Box::new(minting));
        let job = self.advance(job, stage, |commit| commit.counter = Some(counter)).await?;
        edge!("tickets-after-quoted");
        Ok(Attempt::Changed(job))
    }

    /// Waits for the payment, then mints or restores the signatures.
    pub(crate) async fn issue(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        job: &Job,
        minting: &Minting,
        attempts: &mut Attempts,
    ) -> Result<Attempt, AttemptError> {
        let mint = self.mints.get(&minting.terms.mint_url)?;
        let auth = minting.terms.auth.as_ref();
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        if minting.unpaid_seen || attempts.any {
            match self.state_of_quote(&mint, minting).await? {
                Some(QuoteState::Unpaid) => return self.await_payment(entry, job, minting, attempts).await,
                Some(QuoteState::Issued) => {
                    return self.signed_or_lost(entry, job, minting, &mint, Some(attempts)).await;
                }
                Some(QuoteState::Paid) => entry.report(Progress::Working(None)),
                None => return self.signed_or_lost(entry, job, minting, &mint, None).await,
            }
        }
        if !minting.terms.repeatable && !entry.is_awaited() && entry.is_expected() {
            // The caller is paying the quote and will ask again.
            return Ok(Attempt::Later(POLL_INTERVAL));
        }
        attempts.any = true;
        let blinded = self.blinded(&minting.outputs).await?;
        edge!("tickets-before-mint");
        let error = match mint.client.mint(&minting.quote, blinded, auth).await {
            Ok(signatures) => {
                edge!("tickets-after-mint");
                match self.finish_mint(entry, job, minting, &mint, signatures).await {
                    Err(AttemptError::Mint(error)) => error,
                    other => return other,
                }
            }
            Err(error) => error,
        };
        edge!("tickets-after-failed-mint");
        if !error.is_definite() {
            // Earlier look-ups do not cover this request.
            (attempts.uncertain, attempts.refused_since) = (true, None);
        }
        // Before the quote is issued, restored signatures belong to another request (see `swap`).
        match self.state_of_quote(&mint, minting).await? {
            Some(QuoteState::Unpaid) => return self.await_payment(entry, job, minting, attempts).await,
            Some(QuoteState::Issued) => return self.signed_or_lost(entry, job, minting, &mint, Some(attempts)).await,
            Some(QuoteState::Paid) => {}
            None => return self.signed_or_lost(entry, job, minting, &mint, None).await,
        }
        if error.concerns_outputs() && self.is_settled(attempts) {
            mint.forget_first_unused(minting.outputs.keyset);
            // For a paid quote the look-up is repeated: each skips thousands of counters.
            if attempts.has_skipped && !self.is_patient(minting) {
                return self.fail(job, Failure::Refused(SIGNED_BEFORE.to_owned()), true).await;
            }
            let anew = self.mint_anew(job, minting, &mint).await?;
            *attempts = Attempts { has_skipped: true, ..Attempts::default() };
            return Ok(anew);
        }
        let unit = normal_unit(&minting.terms.unit);
        if error.concerns_keyset() && self.has_other_keyset(&mint, &unit, minting.outputs.keyset).await? {
            let anew = self.mint_anew(job, minting, &mint).await?;
            *attempts = Attempts { has_skipped: attempts.has_skipped, ..Attempts::default() };
            return Ok(anew);
        }
        let MintError::Refused(refusal) = &error else { return Err(error.into()) };
        if attempts.uncertain || self.is_patient(minting) {
            return Err(error.into());
        }
        self.fail(job, Failure::Refused(refusal.text.clone()), true).await
    }

    /// Whether the job continues after refusals: the quote was paid for it less than [`PAID_PATIENCE`] ago.
    fn is_patient(&self, minting: &Minting) -> bool {
        minting.unpaid_seen && self.is_recent(minting)
    }

    fn is_recent(&self, minting: &Minting) -> bool {
        Duration::from_secs(self.now().secs().saturating_sub(minting.quoted_at)) < PAID_PATIENCE
    }

    /// Schedules the next check of an unpaid quote, or ends the job.
    async fn await_payment(
        &self,
        entry: &Entry,
        job: &Job,
        minting: &Minting,
        attempts: &mut Attempts,
    ) -> Result<Attempt, AttemptError> {
        let now = self.now().secs();
        if is_past(minting, now) {
            return self.fail(job, Failure::Refused("its quote was not paid in time".to_owned()), true).await;
        }
        if entry.is_quote_abandoned() {
            return self.fail(job, Failure::Refused("its quote was not paid".to_owned()), true).await;
        }
        attempts.any = true;
        attempts.looks = attempts.looks.saturating_add(1);
        if let Some(pause) = OWN_PAYMENT.get(attempts.looks - 1) {
            return Ok(Attempt::Later(*pause));
        }
        // A test mint may pay its own quotes, whose request is no invoice: the caller cannot pay it.
        if Bolt11Invoice::from_str(&minting.invoice).is_ok() {
            let expires_at = minting.expires_at.map(UnixMillis::from_secs);
            entry.report(Progress::PaymentNeeded { invoice: minting.invoice.clone(), expires_at });
        }
        let age = Duration::from_secs(now.saturating_sub(minting.quoted_at));
        Ok(Attempt::Later((age / LOOKS_PER_AGE).clamp(POLL_INTERVAL, LATER_POLL_INTERVAL)))
    }

    /// The state of the quote; `None` when the mint does not know it and it can no longer be paid. Before that an unknown quote
    /// is an error: the mint may have been restored from a backup, or be another instance.
    async fn state_of_quote(&self, mint: &Mint, minting: &Minting) -> Result<Option<QuoteState>, MintError> {
        match mint.client.quote_state(&minting.quote, minting.terms.auth.as_ref()).await {
            Ok(quote) => Ok(Some(quote.state)),
            Err(MintError::Refused(_)) if is_past(minting, self.now().secs()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Handles a quote that the mint reports as issued (`issued` has the attempts so far) or no longer knows (`None`): restores
    /// the signatures. Without signatures the job ends, or is tried again if the quote may have been issued to it.
    async fn signed_or_lost(
        &self,
        entry: &Entry,
        job: &Job,
        minting: &Minting,
        mint: &Mint,
        issued: Option<&mut Attempts>,
    ) -> Result<Attempt, AttemptError> {
        let auth = minting.terms.auth.as_ref();
        if let Some(signatures) = self.restore_outputs(mint, &minting.outputs, auth).await? {
            return self.finish_mint(entry, job, minting, mint, signatures).await;
        }
        let reason = match issued {
            Some(_) => "it issued the quote's token to somebody else",
            None => "it no longer knows the quote",
        };
        if let Some(attempts) = issued.filter(|attempts| attempts.uncertain && self.is_recent(minting)) {
            let MintTerms { mint_url, amount, unit, .. } = &minting.terms;
            attempts.warn_of_lost_signatures(job, mint_url, *amount, unit);
            return Err(wrong("it has issued the quote's token, and has no signatures").into());
        }
        self.fail(job, Failure::Refused(reason.to_owned()), true).await
    }

    async fn finish_mint(
        &self,
        entry: &Entry,
        job: &Job,
        minting: &Minting,
        mint: &Mint,
        signatures: Vec<cashu::BlindSignature>,
    ) -> Result<Attempt, AttemptError> {
        let proofs = self.unblinded(mint, &minting.outputs, signatures).await?;
        let proofs = proofs.into_iter().map(|(_, proof)| proof).collect();
        let unit = normal_unit(&minting.terms.unit);
        let mint_url = mint.address.as_str();
        let mut kept = Vec::new();
        let ending = self.hand_out(entry, job, mint_url, &unit, proofs, &mut kept)?;
        self.end(entry, job, ending, mint_url, &unit, &kept, false).await
    }

    /// Prepares new outputs in the same job: the mint has retired the keyset, or has signed the old outputs for another request
    /// and nothing for this one.
    async fn mint_anew(&self, job: &Job, minting: &Minting, mint: &Mint) -> Result<Attempt, AttemptError> {
        let unit = normal_unit(&minting.terms.unit);
        let (info, keys) = self.keyset_for_outputs(mint, &unit).await.map_err(no_new_outputs)?;
        let _preparing = mint.preparing.lock().await;
        let totals = [(minting.terms.amount, Owner::Holder)];
        let prepared = self.prepare(mint, &info, &keys, &totals, minting.terms.auth.as_ref()).await;
        let (outputs, counter) = prepared.map_err(no_new_outputs)?;
        let stage = Stage::Quoted(Box::new(Minting { outputs, ..minting.clone() }));
        self.replace_outputs(job, stage, counter).await
    }
}

/// Whether the quote can no longer be paid, not even late.
fn is_past(minting: &Minting, now: u64) -> bool {
    let expires = minting.expires_at.unwrap_or(minting.quoted_at.saturating_add(QUOTE_LIFE.as_secs()));
    now > expires.saturating_add(LATE_PAYMENT.as_secs())
}

fn check_quote(quote: &MintQuoteBolt11Response<String>, amount: u64, unit: &str) -> Result<(), MintError> {
    let fits = |text: &str, longest: usize| !text.is_empty() && text.len() <= longest;
    if !fits(&quote.quote, MAX_QUOTE_BYTES) || quote.request.len() > MAX_INVOICE_BYTES {
        return Err(MintError::Invalid("its quote has no id, or is too long".to_owned()));
    }
    if quote.amount.is_some_and(|quoted| u64::from(quoted) != amount) {
        return Err(MintError::Invalid("its quote is for another amount".to_owned()));
    }
    if quote.unit.as_ref().is_some_and(|quoted| normal_unit(&quoted.to_string()) != unit) {
        return Err(MintError::Invalid("its quote is in another unit".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_is_for_what_was_asked() {
        let quote = |amount: u64, unit: &str| {
            let json = serde_json::json!({
                "quote": "q", "request": "lnbc1", "amount": amount, "unit": unit, "state": "UNPAID", "expiry": 9,
            });
            check_quote(&serde_json::from_value(json).unwrap(), 21, "sat")
        };
        quote(21, "sat").unwrap();
        for (amount, unit) in [(20, "sat"), (22, "sat"), (21, "usd")] {
            assert!(quote(amount, unit).is_err(), "{amount} {unit}");
        }
    }
}
