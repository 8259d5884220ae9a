//! The checks of a provider in an open session: begun by the user, brought back by the same browser.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Phase, VerificationSession};
use crate::UnixMillis;
use crate::ports::PendingAgeCheck;

/// For how long the result of a check is awaited before it is asked for, while the user is probably there, and later.
const POLL_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// After how many times it is asked for less often.
const OFTEN: u32 = 60;

/// How often a check may be begun: each costs the provider something.
const MAX_CHECKS: u32 = 10;

/// A check by a provider that has begun.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeCheck {
    /// What the provider's adapter keeps.
    #[serde(rename = "memo")]
    pub pending: PendingAgeCheck,
    /// Whether the provider can be asked for the result again and again; otherwise the browser brings it, once.
    pub polled: bool,
}

/// The browser that began a check, and comes back from the provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedBrowser {
    /// What it brings back in its query: random, and known to the provider.
    pub state: String,
    /// What shows in a cookie that it is this browser: random, and known to nobody else.
    pub secret: String,
}

/// What a browser that comes back finds.
#[derive(Clone)]
pub enum CheckReturn {
    /// The check whose result is to be asked for.
    Check(AgeCheck),
    /// Its check is over without it: the provider was asked meanwhile, or somebody decided, or the time is over.
    Ended,
}

/// Why a check did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginFault {
    /// The session is decided, or its time is over.
    Ended,
    /// The user has begun another one since, as with a double click: that one goes on.
    Superseded,
}

pub(super) fn poll_pause(polls: u32) -> Duration {
    POLL_PAUSES[usize::from(polls > OFTEN)]
}

impl VerificationSession {
    /// Counts a check that is about to begin, and numbers it; `None` when there were too many.
    pub const fn count_check(&mut self) -> Option<u32> {
        if self.checks >= MAX_CHECKS {
            return None;
        }
        self.checks += 1;
        Some(self.checks)
    }

    /// The check with this number did not begin, and cost the provider nothing; says whether this changes anything.
    pub const fn uncount_check(&mut self, number: u32) -> bool {
        let is_last = self.checks == number;
        if is_last {
            self.checks -= 1;
        }
        is_last
    }

    /// The check with this number has begun. An earlier one no longer has an effect, and its browser cannot come back.
    ///
    /// # Errors
    /// [`BeginFault`]; then nothing has changed.
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

    /// What the awaited browser finds that comes back. A check whose result it brings ends now.
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

    /// The user has broken this check off; says whether it was the last one.
    pub fn cancel_check(&mut self, pending: &PendingAgeCheck) -> bool {
        let Phase::Open { check, next, .. } = &mut self.phase else { return false };
        let is_last = check.as_ref().is_some_and(|check| check.pending == *pending);
        if is_last {
            (*check, *next) = (None, None);
        }
        is_last
    }
}
