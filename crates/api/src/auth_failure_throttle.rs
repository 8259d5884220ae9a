//! Limits for clients without a valid token: delayed responses to wrong tokens, and a limited number of log lines.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use usher_places::{Holder, LruCache, bounded};
use usher_token_bucket::{Rate, TokenBucket};

/// Wrong tokens of one address that get an immediate response; the responses to further ones are paced.
const BURST: u32 = 50;

/// The pause between two responses to wrong tokens of one address, after the burst.
const PACE: Duration = Duration::from_millis(50);

/// The longest delay of a response. It limits the number of delayed requests to those that arrive within this time.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// The number of wrong tokens of one address within [`BURST_WITHIN`] that are logged.
pub(crate) const LOGGED_BURST: u32 = 10;
const BURST_WITHIN: Duration = Duration::from_secs(60);

/// The number of remembered addresses (of IPv6: networks of 64 bits).
const MAX_ADDRESSES: usize = 4_096;

/// The log lines for requests without a valid token: this many at once, then one per interval.
const LINES: Rate = Rate::every(100, Duration::from_millis(600));

/// The interval between two summary lines.
const SUMMARY_EVERY: Duration = Duration::from_secs(60);

/// Recent wrong tokens, and log lines of clients without a valid token. A wrong token delays only its own response: the
/// app may share its address (a proxy's) with an attacker, so further requests are never refused.
#[derive(Debug)]
pub(crate) struct AuthFailureThrottle {
    addresses: Mutex<LruCache<Holder, Failures>>,
    lines: Mutex<Lines>,
    wrong_tokens: AtomicU64,
}

/// The wrong tokens of an address.
#[derive(Debug)]
struct Failures {
    /// The end of its delays.
    full_at: Instant,
    /// Wrong tokens counted for the log since this time.
    counted: u32,
    counted_from: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongToken {
    pub(crate) delay: Duration,
    /// It is the tenth of its address within a minute. At most once per minute and address.
    pub(crate) is_burst: bool,
}

#[derive(Debug)]
struct Lines {
    left: TokenBucket<Instant>,
    summary_at: Option<Instant>,
    wrong_tokens: u64,
    unlogged: u64,
}

/// The content of a summary line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) wrong_tokens: u64,
    /// Requests without a valid token since the last summary that were not logged individually.
    pub(crate) unlogged: u64,
}

impl Default for AuthFailureThrottle {
    fn default() -> Self {
        let left = TokenBucket::new(LINES, Instant::now());
        let lines = Lines { left, summary_at: None, wrong_tokens: 0, unlogged: 0 };
        let addresses = Mutex::new(bounded(MAX_ADDRESSES));
        Self { addresses, lines: Mutex::new(lines), wrong_tokens: AtomicU64::default() }
    }
}

impl AuthFailureThrottle {
    pub(crate) fn wrong_token(&self, peer: Option<IpAddr>, now: Instant) -> WrongToken {
        self.wrong_tokens.fetch_add(1, Ordering::Relaxed);
        self.lines.lock().wrong_tokens += 1;
        let mut addresses = self.addresses.lock();
        let new = || Failures { full_at: now, counted: 0, counted_from: now };
        let peer = peer.map_or_else(|| Holder::crowd("unknown"), Holder::host);
        let failures = addresses.get_or_insert_mut(peer, new);
        let free = PACE * BURST;
        // At most the longest delay ahead: otherwise an address would stay slow long after its last wrong token.
        failures.full_at = (failures.full_at.max(now) + PACE).min(now + free + MAX_DELAY);
        if now >= failures.counted_from + BURST_WITHIN {
            (failures.counted, failures.counted_from) = (0, now);
        }
        failures.counted = failures.counted.saturating_add(1);
        let delay = failures.full_at.duration_since(now).saturating_sub(free);
        WrongToken { delay, is_burst: failures.counted == LOGGED_BURST }
    }

    pub(crate) fn wrong_tokens(&self) -> u64 {
        self.wrong_tokens.load(Ordering::Relaxed)
    }

    /// Whether to log a request without a valid token, and the summary to log. Both are limited: otherwise anybody
    /// could fill the disk.
    pub(crate) fn line(&self, now: Instant) -> (bool, Option<Summary>) {
        let mut lines = self.lines.lock();
        let allowed = lines.left.take(now);
        lines.unlogged += u64::from(!allowed);
        let due = lines.summary_at.is_none_or(|at| at <= now);
        let Lines { wrong_tokens, unlogged, .. } = *lines;
        if !due || (wrong_tokens, unlogged) == (0, 0) {
            return (allowed, None);
        }
        (lines.summary_at, lines.wrong_tokens, lines.unlogged) = (Some(now + SUMMARY_EVERY), 0, 0);
        (allowed, Some(Summary { wrong_tokens, unlogged }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_delayed_per_address() {
        let throttle = AuthFailureThrottle::default();
        let now = Instant::now();
        let hold = |peer, at| throttle.wrong_token(peer, at).delay;
        for _ in 0..BURST {
            assert_eq!(hold(ip(1), now), Duration::ZERO);
        }
        assert_eq!(hold(ip(1), now), PACE);
        assert_eq!(hold(ip(1), now), PACE * 2);
        assert_eq!(hold(ip(2), now), Duration::ZERO, "another address");
        for _ in 0..1_000 {
            assert!(hold(ip(1), now) <= MAX_DELAY);
        }
        let later = now + PACE * BURST + MAX_DELAY;
        assert_eq!(hold(ip(1), later), Duration::ZERO, "all is forgotten");
        assert_eq!(throttle.wrong_tokens(), u64::from(BURST) + 1_004);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_an_address_is_noticed_once_a_minute() {
        let throttle = AuthFailureThrottle::default();
        let now = Instant::now();
        let bursts = |peer, at, count: u32| (0..count).filter(|_| throttle.wrong_token(peer, at).is_burst).count();
        assert_eq!(bursts(ip(1), now, LOGGED_BURST - 1), 0);
        assert_eq!(bursts(ip(2), now, LOGGED_BURST), 1, "each address for itself");
        assert_eq!(bursts(ip(1), now, 1_000), 1);
        let later = now + BURST_WITHIN;
        assert_eq!(bursts(ip(1), later, LOGGED_BURST - 1), 0);
        assert_eq!(bursts(ip(1), later, 2), 1);
        // Too slow for a burst.
        let slow = (0..100).filter(|n| throttle.wrong_token(ip(3), now + BURST_WITHIN / 8 * *n).is_burst).count();
        assert_eq!(slow, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn log_lines_are_limited_and_summarized() {
        let throttle = AuthFailureThrottle::default();
        let now = Instant::now();
        assert_eq!(throttle.line(now), (true, None), "no token is no wrong token");
        throttle.wrong_token(ip(1), now);
        assert_eq!(throttle.line(now), (true, Some(Summary { wrong_tokens: 1, unlogged: 0 })));
        let logged = (0..10_000).filter(|_| throttle.line(now).0).count();
        assert_eq!(logged, 98);
        let (allowed, summary) = throttle.line(now + SUMMARY_EVERY);
        assert!(allowed);
        assert_eq!(summary, Some(Summary { wrong_tokens: 0, unlogged: 9_902 }));
    }
}
