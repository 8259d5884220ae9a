//! The checks of a provider in an open session: started by the user, and completed by the same browser.

use super::age_check::{AgeCheck, AwaitedBrowser, BeginFault, CheckReturn, POLL_PAUSES};
use super::{Phase, VerificationSession};
use crate::UnixMillis;
use crate::ports::PendingAgeCheck;

/// Most checks per session: each may cost money.
const MAX_CHECKS: u32 = 10;

impl VerificationSession {
    /// Counts and numbers a check about to be started; `None` if the limit is reached.
    pub const fn count_check(&mut self) -> Option<u32> {
        if self.checks >= MAX_CHECKS {
            return None;
        }
        self.checks += 1;
        Some(self.checks)
    }

    /// Undoes the count of a check that was not started at the provider; returns whether the state changed.
    pub const fn uncount_check(&mut self, number: u32) -> bool {
        let is_last = self.checks == number;
        if is_last {
            self.checks -= 1;
        }
        is_last
    }

    /// Records that the check with this number has started. It invalidates an earlier one.
    ///
    /// # Errors
    /// [`BeginFault`]; nothing has changed then.
    pub fn begin_check(
        &mut self,
        number: u32,
        begun: AgeCheck,
        browser: AwaitedBrowser,
        now: UnixMillis,
    ) -> Result<(), BeginFault> {
        match &mut self.phase {
            Phase::Open { .. } if self.checks != number => Err(BeginFault::Superseded),
            Phase::Open { check, polls, next } if now < self.expires_at => {
                *next = begun.polled.then(|| now.plus(POLL_PAUSES[0]));
                *polls = 0;
                *check = Some(begun);
                self.awaited = Some(browser);
                Ok(())
            }
            _ => Err(BeginFault::Ended),
        }
    }

    /// Handles the awaited browser's return. A check whose result it brings ends now.
    pub fn take_return(&mut self, is_it: impl FnOnce(&AwaitedBrowser) -> bool) -> Option<CheckReturn> {
        if !self.awaited.as_ref().is_some_and(is_it) {
            return None;
        }
        let Phase::Open { check, .. } = &mut self.phase else { return Some(CheckReturn::Ended) };
        let found = check.clone().map_or(CheckReturn::Ended, CheckReturn::Check);
        if check.as_ref().is_some_and(|check| !check.polled) {
            (*check, self.awaited) = (None, None);
        }
        Some(found)
    }

    /// Handles a check cancelled by the user; returns whether it was the last one.
    pub fn cancel_check(&mut self, pending: &PendingAgeCheck) -> bool {
        let Phase::Open { check, next, .. } = &mut self.phase else { return false };
        let is_last = check.as_ref().is_some_and(|check| check.pending == *pending);
        if is_last {
            (*check, *next) = (None, None);
        }
        is_last
    }
}
