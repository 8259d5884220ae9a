//! Adapts the send rate to the relay's limits.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(50);

const SLOWEST: Duration = Duration::from_secs(5);

/// Below this interval the rate is unlimited.
const UNLIMITED: Duration = Duration::from_millis(5);

/// After this long without a rejection the rate doubles.
const SPEED_UP_AFTER: Duration = Duration::from_secs(5);

/// Unlimited until the relay responds `rate-limited:`. Then it pauses, and the rate halves with each further rejection
/// and doubles while there is none. It does not depend on `OK`, which not every relay sends.
#[derive(Debug)]
pub(crate) struct SendRate {
    first_pause: Duration,
    pause: Duration,
    longest_pause: Duration,
    interval: Option<Duration>,
    next_at: Option<Instant>,
    limited_at: Option<Instant>,
    changed_at: Instant,
}

impl SendRate {
    pub(crate) fn new(first_pause: Duration, longest_pause: Duration, now: Instant) -> Self {
        Self {
            first_pause,
            pause: first_pause,
            longest_pause,
            interval: None,
            next_at: None,
            limited_at: None,
            changed_at: now,
        }
    }

    /// Handles a rejection of an event sent at `sent_at`. Rejections of events sent before the last rejection arrived
    /// are ignored.
    pub(crate) fn limited(&mut self, sent_at: Instant, now: Instant) {
        if self.limited_at.is_some_and(|heard| sent_at <= heard) {
            return;
        }
        self.limited_at = Some(now);
        self.interval = Some(self.interval.map_or(FIRST, |interval| (interval * 2).min(SLOWEST)));
        self.next_at = Some(now + self.pause);
        self.pause = (self.pause * 2).min(self.longest_pause);
        self.changed_at = now;
    }

    /// When the next event may be sent; `None` means at once.
    pub(crate) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if let Some(interval) = self.interval
            && now.saturating_duration_since(self.changed_at) > SPEED_UP_AFTER.max(self.pause)
        {
            let faster = interval / 2;
            self.interval = (faster > UNLIMITED).then_some(faster);
            self.pause = (self.pause / 2).max(self.first_pause);
            self.changed_at = now;
        }
        self.next_at.filter(|at| *at > now)
    }

    pub(crate) fn sent(&mut self, now: Instant) {
        self.next_at = self.interval.map(|interval| now + interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many events leave in `period` when there is always one waiting.
    fn sent_in(send_rate: &mut SendRate, now: &mut Instant, period: Duration) -> usize {
        let end = *now + period;
        let mut sent = 0;
        while *now < end {
            match send_rate.wait_until(*now) {
                Some(at) => *now = at,
                None => {
                    send_rate.sent(*now);
                    sent += 1;
                    *now += Duration::from_millis(1);
                }
            }
        }
        sent
    }

    #[test]
    fn rate_drops_after_rejections_and_recovers() {
        let mut now = Instant::now();
        let mut send_rate = SendRate::new(Duration::from_secs(1), Duration::from_secs(60), now);
        assert!(sent_in(&mut send_rate, &mut now, Duration::from_secs(1)) > 900, "no limit at first");
        let sent_at = now;
        for _ in 0..100 {
            send_rate.limited(sent_at, now); // the answers to what was under way
        }
        assert_eq!(send_rate.wait_until(now), Some(now + Duration::from_secs(1)), "one pause for all of them");
        now += Duration::from_secs(1);
        let paced = sent_in(&mut send_rate, &mut now, Duration::from_secs(2));
        assert!((35..=45).contains(&paced), "{paced}");
        send_rate.limited(sent_at, now);
        assert!(send_rate.wait_until(now).is_none_or(|at| at <= now + FIRST), "old news");
        send_rate.limited(now, now);
        now += Duration::from_secs(2);
        let slower = sent_in(&mut send_rate, &mut now, Duration::from_secs(2));
        assert!((15..=25).contains(&slower), "{slower}");
        now += Duration::from_secs(60);
        sent_in(&mut send_rate, &mut now, Duration::from_secs(120));
        assert!(sent_in(&mut send_rate, &mut now, Duration::from_secs(1)) > 900, "forgiven");
    }
}
