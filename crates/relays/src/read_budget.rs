//! Limits the total cost of reading from users' relays.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How much unused budget is kept for later.
const SLACK: Duration = Duration::from_secs(2);

/// Limits the cost of all users' relays per second.
///
/// The session limits each relay by itself; but there may be many, and each could use all of its share. When they cost too
/// much together, a relay that was just read pauses until its turn is over. So they are read in turn, each as often as the
/// others, and a relay with a good message among dozens that flood is still read within moments.
#[derive(Debug)]
pub(crate) struct ReadBudget {
    each: Duration,
    over: Mutex<Instant>,
}

impl ReadBudget {
    /// Allows the cost of this many useless messages per second.
    pub(crate) fn new(per_second: u32, now: Instant) -> Self {
        Self { each: Duration::from_secs(1) / per_second.max(1), over: Mutex::new(now) }
    }

    /// A relay cost as much as so many useless messages. Returns until when it must pause, if it must.
    pub(crate) fn spend(&self, cost: f64, now: Instant) -> Option<Instant> {
        let mut over = self.over.lock();
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        *over = (*over).max(earliest) + self.each.mul_f64(cost.max(0.0));
        (*over > now).then_some(*over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_relays_share_the_budget_equally() {
        let start = Instant::now();
        let read_budget = ReadBudget::new(100, start);
        // Sixty relays that always have a message, and one more after two seconds.
        let mut rest = vec![start; 61];
        let mut read = [0; 61];
        for millis in 0..12_000 {
            let now = start + Duration::from_millis(millis);
            let from = if millis < 2000 { 1 } else { 0 };
            for relay in from..61 {
                if rest[relay] <= now {
                    read[relay] += 1;
                    rest[relay] = read_budget.spend(1.0, now).unwrap_or(now);
                }
            }
        }
        let all: i32 = read.iter().sum();
        assert!((1200..=1300).contains(&all), "{all}");
        assert!(read[1..].iter().all(|read| (19..=23).contains(read)), "{read:?}");
        assert!((15..=18).contains(&read[0]), "{read:?}");
    }

    #[test]
    fn inexpensive_relay_never_pauses() {
        let start = Instant::now();
        let read_budget = ReadBudget::new(100, start);
        let mut now = start + Duration::from_secs(10);
        for _ in 0..1000 {
            assert_eq!(read_budget.spend(1.0, now), None);
            now += Duration::from_millis(10);
        }
        assert!(
            (0..1000).filter(|_| read_budget.spend(1.0, now).is_none()).count() <= 200,
            "no more than that is saved up"
        );
    }
}
