//! Open verification sessions: their pages, the checks of a provider, and decisions.

use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tracing::warn;

use super::Verification;
use crate::kernel::age_check_queue::within;
use crate::kernel::commit::{Modified, Stored};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::ModifyError;
use crate::page_rules::is_same_secret;
use crate::ports::{AgeCheckResult, AgeVerifierError, BegunAgeCheck, NewAgeCheck, OperationKind, StoreError};
use crate::registry::Operation;
use crate::verification::operation::{
    AgeCheck, AgeDecision, AwaitedBrowser, BeginFault, CheckReturn, DecisionFault, VerificationSession,
    VerificationState,
};
use crate::{Requester, StreamId, UnixMillis};

/// A session as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationView {
    /// Its state.
    pub state: VerificationState,
    /// The minimum age in years.
    pub minimum_age: u64,
    /// The remaining time for a decision.
    pub time_left: Duration,
    /// Where the page redirects at the end.
    pub return_url: Option<String>,
    /// The number by which staff find it.
    pub number: Option<u32>,
}

/// A session that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenVerification {
    /// The session.
    pub session_id: StreamId,
    /// Its number, which the user's page shows.
    pub number: Option<u32>,
    /// The minimum age in years.
    pub minimum_age: u64,
    /// Whether a provider is checking.
    pub is_checked: bool,
    /// Until when it can be decided.
    pub expires_at: UnixMillis,
}

/// A started check; the browser is redirected to the provider.
#[derive(Clone)]
pub struct AgeCheckStarted {
    /// The provider's URL for the browser.
    pub url: String,
    /// The secret for the browser's cookie, required on its return.
    pub browser: String,
}

/// The result of a browser's return from the provider.
#[derive(Clone)]
pub struct AgeCheckReturned {
    /// The session.
    pub session_id: StreamId,
    /// The secret in its page's address, to which the browser is redirected.
    pub page_secret: String,
    /// Whether the check has a result, or will get one. Otherwise the user may start it again.
    pub is_complete: bool,
}

/// Why the result of a check was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AgeCheckError {
    /// There is no such session, or it does not expect this browser.
    #[error("no such verification session")]
    NotFound,
    /// Too many checks are starting or ending.
    #[error("too many checks at the same time")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a check was not started.
#[derive(Debug, thiserror::Error)]
pub enum BeginCheckError {
    /// There is no such session, too many checks are starting, or the store failed.
    #[error(transparent)]
    Check(#[from] AgeCheckError),
    /// The session is decided or has expired, or staff decide it.
    #[error("there is nothing to check")]
    NothingToCheck,
    /// Too many checks were started for it.
    #[error("the check was begun too often")]
    TooOften,
    /// The age verifier failed.
    #[error(transparent)]
    Verifier(#[from] AgeVerifierError),
}

impl From<StoreError> for BeginCheckError {
    fn from(error: StoreError) -> Self {
        Self::Check(error.into())
    }
}

/// Why a session was not decided.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is no session with this id, or it was removed after its retention.
    #[error("no such verification session")]
    NotFound,
    /// It is decided already.
    #[error("the session is decided already")]
    Decided,
    /// It has expired.
    #[error("the session has expired")]
    Expired,
    /// The idempotent request was executed before.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DecisionFault> for DecisionError {
    fn from(fault: DecisionFault) -> Self {
        match fault {
            DecisionFault::Decided => Self::Decided,
            DecisionFault::Expired => Self::Expired,
        }
    }
}

impl ModifyError for AgeCheckError {}
impl ModifyError for BeginCheckError {}

impl ModifyError for DecisionError {
    fn repeated() -> Self {
        Self::Repeated
    }
}

pub(crate) const CONCURRENT: usize = 64;

impl Verification {
    /// The name of the age verifier, if one is configured; otherwise staff decide.
    pub fn verifier_name(&self) -> Option<&str> {
        self.verifier.as_ref().map(|verifier| verifier.name())
    }

    /// The session with this id, open or ended, if the page's secret is correct.
    pub async fn session(&self, id: StreamId, page_secret: &str) -> Result<Option<VerificationView>, StoreError> {
        let session = self.find_page(id, page_secret).await?;
        let now = self.core.clock.now();
        Ok(session.map(|(_, _, session)| VerificationView {
            state: session.state(),
            minimum_age: session.minimum_age(),
            time_left: session.expires_at().since(now),
            return_url: session.return_url().map(str::to_owned),
            number: session.number(),
        }))
    }

    /// Up to `limit` sessions that wait for a decision, after `after`, and the `after` of the next page. A short page may
    /// have a successor.
    pub async fn waiting(
        &self,
        requester: &Requester,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<OpenVerification>, Option<StreamId>), StoreError> {
        let ids = self.open.after(after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let now = self.core.clock.now();
        let mut waiting = Vec::new();
        for id in ids {
            let Some((session_id, _, session)) = self.find(requester, id).await? else { continue };
            let is_checked = match session.state() {
                VerificationState::Open => false,
                VerificationState::Checking => true,
                _ => continue,
            };
            if now < session.expires_at() {
                let (number, minimum_age) = (session.number(), session.minimum_age());
                let expires_at = session.expires_at();
                waiting.push(OpenVerification { session_id, number, minimum_age, is_checked, expires_at });
            }
        }
        Ok((waiting, next))
    }

    /// Starts a check of an open session by the age verifier, replacing an earlier one. May take some seconds.
    ///
    /// # Errors
    /// [`BeginCheckError`]; nothing has changed then.
    pub async fn begin_check(&self, id: StreamId, page_secret: &str) -> Result<AgeCheckStarted, BeginCheckError> {
        let verifier = self.verifier.as_ref().ok_or(BeginCheckError::NothingToCheck)?;
        let mut permit = None;
        // Counted first, so that concurrent requests cannot exceed the limit.
        let counted = self.starter.committer.modify(
            Operation::VerificationSession,
            || async { Ok::<_, BeginCheckError>(self.find_page(id, page_secret).await?) },
            |session, now| {
                let is_open = matches!(session.state(), VerificationState::Open | VerificationState::Checking);
                if !is_open || now >= session.expires_at() {
                    return Err(BeginCheckError::NothingToCheck);
                }
                let number = session.count_check().ok_or(BeginCheckError::TooOften)?;
                self.hold_permit(&mut permit)?;
                Ok(Modified::changed(Vec::new(), (number, session.minimum_age(), session.expires_at())))
            },
        );
        let (number, minimum_age, expires_at) = counted.await?.ok_or(AgeCheckError::NotFound)?;
        let (state, secret) = (self.core.ids.token(), self.core.ids.token());
        let check = NewAgeCheck {
            minimum_age,
            return_url: format!("{}/verify/return", self.pages.url),
            state: format!("{id}.{state}"),
            expires_at,
        };
        let BegunAgeCheck { url, pending } = match self.unless_stopped(within(verifier.begin(&check))).await? {
            Ok(begun) => begun,
            Err(failure) => {
                if matches!(failure, AgeVerifierError::Unreachable(_)) {
                    self.change(id, |session| session.uncount_check(number)).await?;
                }
                return Err(failure.into());
            }
        };
        let check = AgeCheck { pending, polled: verifier.can_be_polled() };
        let awaited = AwaitedBrowser { state, secret: secret.clone() };
        let mut fault = None;
        self.change(id, |session| {
            let begun = session.begin_check(number, check.clone(), awaited.clone(), self.core.clock.now());
            fault = begun.err();
            fault.is_none()
        })
        .await?;
        match fault {
            None => Ok(AgeCheckStarted { url, browser: secret }),
            Some(BeginFault::Ended) => Err(BeginCheckError::NothingToCheck),
            Some(BeginFault::Superseded) => Err(AgeCheckError::Busy.into()),
        }
    }

    /// Handles a browser's return from the age verifier, with `state`, the query and its cookie. May take some seconds.
    pub async fn end_check(&self, state: &str, query: &str, browser: &str) -> Result<AgeCheckReturned, AgeCheckError> {
        let verifier = self.verifier.as_ref().ok_or(AgeCheckError::NotFound)?;
        let (id, state) = state.split_once('.').ok_or(AgeCheckError::NotFound)?;
        let id: StreamId = id.parse().map_err(|_| AgeCheckError::NotFound)?;
        let mut permit = None;
        let is_it = |awaited: &AwaitedBrowser| {
            is_same_secret(&awaited.state, state) && is_same_secret(&awaited.secret, browser)
        };
        let taken = self.starter.committer.modify(
            Operation::VerificationSession,
            || async { Ok::<_, AgeCheckError>(self.find(&Requester::Service, id).await?) },
            |session, _| {
                let page_secret = session.page_secret().to_owned();
                let check = match session.take_return(is_it).ok_or(AgeCheckError::NotFound)? {
                    CheckReturn::Check(check) => check,
                    CheckReturn::Ended => {
                        let is_complete = session.state() != VerificationState::Open;
                        return Ok(Modified::Unchanged((Err(is_complete), page_secret)));
                    }
                };
                self.hold_permit(&mut permit)?;
                // A check that can be polled is not used up: nothing has changed.
                let is_kept = check.polled;
                let taken = (Ok(check), page_secret);
                Ok(if is_kept { Modified::Unchanged(taken) } else { Modified::changed(Vec::new(), taken) })
            },
        );
        let (check, page_secret) = taken.await?.ok_or(AgeCheckError::NotFound)?;
        let check = match check {
            Ok(check) => check,
            Err(is_complete) => return Ok(AgeCheckReturned { session_id: id, page_secret, is_complete }),
        };
        let returned = |is_complete| AgeCheckReturned { session_id: id, page_secret, is_complete };
        match self.unless_stopped(within(verifier.result(&check.pending, Some(query)))).await? {
            Ok(AgeCheckResult::Passed) => self.decide_by_check(id, AgeDecision::Approved).await?,
            Ok(AgeCheckResult::Failed { reason }) => {
                self.decide_by_check(id, AgeDecision::Rejected { reason: Some(reason.to_owned()) }).await?;
            }
            Ok(AgeCheckResult::Pending) => return Ok(returned(check.polled)),
            Ok(AgeCheckResult::Cancelled) => {
                if check.polled {
                    self.change(id, |session| session.cancel_check(&check.pending)).await?;
                }
                return Ok(returned(false));
            }
            Err(failure) => {
                warn!(stream_id = %id, %failure, "a check of the age verifier has no result");
                return Ok(returned(check.polled));
            }
        }
        Ok(returned(true))
    }

    /// A decision that was made meanwhile takes precedence.
    async fn decide_by_check(&self, id: StreamId, decision: AgeDecision) -> Result<(), AgeCheckError> {
        match self.decide(&Requester::Service, id, &decision, None).await {
            Ok(()) | Err(DecisionError::Decided | DecisionError::Expired | DecisionError::Repeated) => Ok(()),
            Err(DecisionError::NotFound) => Err(AgeCheckError::NotFound),
            Err(DecisionError::Store(error)) => Err(error.into()),
        }
    }

    async fn change(
        &self,
        id: StreamId,
        mut change: impl FnMut(&mut VerificationSession) -> bool,
    ) -> Result<(), AgeCheckError> {
        let changed = self.starter.committer.modify(
            Operation::VerificationSession,
            || async { Ok::<_, AgeCheckError>(self.find(&Requester::Service, id).await?) },
            |session, _| Ok(if change(session) { Modified::changed(Vec::new(), ()) } else { Modified::Unchanged(()) }),
        );
        changed.await?.ok_or(AgeCheckError::NotFound)
    }

    /// Takes a permit if there is none yet. Wrong requests get none, so that guessing cannot block users' checks.
    fn hold_permit<'a>(&'a self, permit: &mut Option<SemaphorePermit<'a>>) -> Result<(), AgeCheckError> {
        if permit.is_none() {
            *permit = Some(self.permits.try_acquire().map_err(|_| AgeCheckError::Busy)?);
        }
        Ok(())
    }

    /// Decides an open session.
    ///
    /// # Errors
    /// [`DecisionError`]; nothing has changed then.
    pub async fn decide(
        &self,
        requester: &Requester,
        id: StreamId,
        decision: &AgeDecision,
        once: Option<IdempotentRequest<AgeDecision>>,
    ) -> Result<(), DecisionError> {
        let decided = self.starter.committer.modify(
            Operation::VerificationSession,
            || async { Ok::<_, DecisionError>(self.find(requester, id).await?) },
            |session, now| {
                let effects = session.decide(decision, now)?;
                let record = once.as_ref().map(|once| once.record(decision, now));
                Ok(Modified::Changed { effects, record, result: () })
            },
        );
        decided.await?.ok_or(DecisionError::NotFound)
    }

    /// Aborts the wait for the age verifier when the engine stops.
    async fn unless_stopped<T>(&self, asked: impl Future<Output = T>) -> Result<T, StoreError> {
        self.core.tasks.unless_stopped(asked).await.ok_or(StoreError::Closed)
    }

    async fn find_page(
        &self,
        id: StreamId,
        page_secret: &str,
    ) -> Result<Option<Stored<VerificationSession>>, StoreError> {
        Ok(self
            .find(&Requester::Service, id)
            .await?
            .filter(|(_, _, session)| is_same_secret(session.page_secret(), page_secret)))
    }

    async fn find(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<Stored<VerificationSession>>, StoreError> {
        match self.core.readable(requester, id).await? {
            Some((stored, Operation::VerificationSession(session)))
                if stored.kind == OperationKind::VerificationSession =>
            {
                Ok(Some((id, stored.version(), session)))
            }
            _ => Ok(None),
        }
    }
}
