//! How good a connection was, which decides how soon the next one is made.

use tokio::time::Instant;

use crate::timing::Timing;

/// How good a connection was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// It received something useful and lasted for [`Timing::worked_after`].
    Worked,
    /// It ended soon, or received nothing useful.
    Failed,
    /// The relay exceeded a limit.
    Abusive,
}

/// Follows a connection from a moment that its owner chooses: when it was made, or when it became useful.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    since: Instant,
    is_useful: bool,
    was_reported: bool,
}

impl Health {
    /// A connection that begins now and has received nothing yet.
    pub const fn new(now: Instant) -> Self {
        Self { since: now, is_useful: false, was_reported: false }
    }

    /// Something useful was received.
    pub const fn note_useful(&mut self) {
        self.is_useful = true;
    }

    /// True once, when the connection has become healthy.
    pub fn became_healthy(&mut self, timing: &Timing, now: Instant) -> bool {
        let healthy = self.is_useful && self.since + timing.healthy_after <= now;
        healthy && !std::mem::replace(&mut self.was_reported, true)
    }

    /// When to ask [`became_healthy`](Self::became_healthy) next; `None` when that time has passed.
    pub fn due(&self, timing: &Timing, now: Instant) -> Option<Instant> {
        Some(self.since + timing.healthy_after).filter(|at| *at > now)
    }

    /// How good the connection was that ends now, as far as its duration tells.
    pub fn quality(&self, timing: &Timing, now: Instant) -> Quality {
        let lasted = now.saturating_duration_since(self.since);
        if self.is_useful && lasted >= timing.worked_after { Quality::Worked } else { Quality::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_without_useful_data_never_becomes_healthy() {
        let (timing, start) = (Timing::default(), Instant::now());
        let (soon, later) = (start + timing.worked_after, start + timing.healthy_after);
        let mut health = Health::new(start);
        assert_eq!(health.quality(&timing, later), Quality::Failed);
        assert!(!health.became_healthy(&timing, later));
        health.note_useful();
        assert_eq!(health.quality(&timing, start), Quality::Failed);
        assert_eq!(health.quality(&timing, soon), Quality::Worked);
        assert_eq!((health.due(&timing, start), health.due(&timing, later)), (Some(later), None));
        assert!(!health.became_healthy(&timing, soon));
        assert!(health.became_healthy(&timing, later) && !health.became_healthy(&timing, later), "reported once");
    }
}
