//! Proofs of other signers, on the pages of reusable logins.

use usher_protocol::{EventId, PublicKey};

use super::authors::Accepted;
use super::rates::Charge;
use super::{ScanLimit, ScanLimiter, ScanTarget};
use crate::ports::Via;
use crate::{StreamId, UnixMillis};

/// What the pages of reusable logins are called where relays are counted.
const PAGES: &str = "the login's page";

/// A proof that may be used.
#[must_use]
pub(in crate::engine) struct AdmittedProof {
    stream: StreamId,
    login: StreamId,
    author: PublicKey,
    event: EventId,
    is_known: bool,
    /// What it has taken; nothing when it was admitted before.
    pub(super) charge: Option<Charge>,
}

/// How proofs come.
fn over_pages() -> Via {
    Via { relay: Some(PAGES.into()), copy: false }
}

impl ScanLimiter {
    /// Whether the login `login`, which a browser has begun at the reusable login `stream`, may take this proof of another
    /// signer's key. The answer cannot wait. `is_known`: the service knows the key.
    ///
    /// # Errors
    /// The limit that refuses it.
    pub(super) fn admit_proof(
        &self,
        stream: StreamId,
        login: StreamId,
        (author, event): (PublicKey, EventId),
        is_known: bool,
        now: UnixMillis,
    ) -> Result<AdmittedProof, ScanLimit> {
        let state = &mut *self.state.lock();
        let (target, via) = (ScanTarget::Page(login), over_pages());
        let before = state.authors.get(&(stream, author)).copied().unwrap_or(Accepted::NOTHING);
        let is_known = is_known || before.is_known();
        let charge = if before.has(event) {
            None
        } else if before.allows(target, now) {
            Some(state.class(stream, is_known).admit(&via, now)?)
        } else {
            return Err(ScanLimit::Author);
        };
        if charge.is_some() {
            state.count(stream, target, author, event, now);
        }
        Ok(AdmittedProof { stream, login, author, event, is_known, charge })
    }

    /// A proof that was admitted has logged nobody in, because the login was over: it does not count.
    pub(super) fn withdraw_proof(&self, proof: &AdmittedProof) {
        let AdmittedProof { stream, login, author, event, is_known, charge } = *proof;
        let Some(charge) = charge else { return };
        let state = &mut *self.state.lock();
        if state.take_back(stream, ScanTarget::Page(login), author, event) {
            state.class(stream, is_known).give_back(&over_pages(), charge);
        }
    }

    /// A proof was refused.
    pub(super) fn proof_refused(&self, stream: StreamId, limit: ScanLimit, now: UnixMillis) {
        self.state.lock().refuse(stream, limit, Some(PAGES.into()), now);
    }
}
