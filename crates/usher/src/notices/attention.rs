//! Decides which notice is sent to which target. Pure: it has neither clock nor network.
//!
//! A *cause* is one thing that needs attention, such as one relay that is lost. It stands once it has been there for as
//! long as its [`Trigger`] asks, and is over once it has been gone for as long. A target gets a notice of each cause that
//! stands and that it has no notice of, and one when such a cause is over: nothing is queued. While a target cannot be
//! reached, what comes and goes is not reported; once it can be, it gets what is true then.
//!
//! | crash | what follows |
//! | --- | --- |
//! | before a notice is sent | it is sent after the restart |
//! | after it is sent, before that is stored | it is sent again, the webhook's with the same id if nothing new has joined it |
//! | later | nothing is repeated; what ended meanwhile is over |
//!
//! Waiting follows the monotonic clock: setting the wall clock changes no decision, only the times in texts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::setting::Trigger;

const MINUTE: Duration = Duration::from_secs(60);

/// Most causes of one trigger. Further ones wait until one is over.
pub(super) const MAX_CAUSES: usize = 100;

/// A thing that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cause {
    /// What it is about: the name of its trigger.
    pub(super) on: String,
    /// What happened, as a sentence without a user's data.
    pub(super) what: String,
    /// What helps.
    pub(super) step: String,
    /// What is true when it is over, as a sentence.
    pub(super) over: String,
    /// Since when, in Unix seconds.
    pub(super) since: u64,
}

/// Causes by [id](Trigger::id).
pub(super) type Causes = BTreeMap<String, Cause>;

/// How long a cause must be there before it stands, and be gone before it is over. What flaps more quickly is one cause.
const fn patience(trigger: Trigger) -> (Duration, Duration) {
    match trigger {
        // It has no effect yet that an app or a user could notice, and reconnections are common.
        Trigger::Relay => (Duration::from_secs(10 * 60), Duration::from_secs(10 * 60)),
        // The rest of the hour is in the age of the event.
        Trigger::Webhook => (Duration::from_secs(5 * 60), Duration::from_secs(5 * 60)),
        Trigger::BalanceBelow(_) | Trigger::InboundBelow(_) => (MINUTE, Duration::from_secs(30 * 60)),
        Trigger::Backup | Trigger::Approval | Trigger::PaymentAbove(_) => (Duration::ZERO, Duration::ZERO),
    }
}

/// What needs attention now.
#[derive(Default)]
pub(super) struct Attention(BTreeMap<String, Seen>);

struct Seen {
    cause: Cause,
    /// On the monotonic clock.
    since: Duration,
    stands: bool,
    /// Since when it is gone.
    gone: Option<Duration>,
}

impl Attention {
    /// Takes over the causes of the notices before a restart: each stands until it is seen to be gone.
    pub(super) fn restore(&mut self, sent: &Causes, now: Duration) {
        for (id, cause) in sent {
            let seen = Seen { cause: cause.clone(), since: now, stands: true, gone: None };
            self.0.entry(id.clone()).or_insert(seen);
        }
    }

    /// Records all causes of this trigger that there are at `now`. Not called while they are unknown: then nothing changes.
    pub(super) fn observe(&mut self, trigger: Trigger, causes: Causes, now: Duration) {
        let (stands_after, over_after) = patience(trigger);
        for seen in self.0.iter_mut().filter(|(id, _)| trigger.is_of(id)).map(|(_, seen)| seen) {
            seen.gone = seen.gone.or(Some(now));
        }
        for (id, cause) in causes {
            let seen = self.0.entry(id).or_insert_with(|| Seen { cause, since: now, stands: false, gone: None });
            seen.gone = None;
            seen.stands |= now.saturating_sub(seen.since) >= stands_after;
        }
        self.0.retain(|id, seen| match seen.gone {
            Some(since) if trigger.is_of(id) => seen.stands && now.saturating_sub(since) < over_after,
            _ => true,
        });
    }

    /// What a target with these triggers has no notice of yet.
    pub(super) fn news(&self, on: &[Trigger], sent: &Causes) -> News {
        let standing = |id: &String| self.0.get(id).is_some_and(|seen| seen.stands);
        let is_new = |(id, seen): &(&String, &Seen)| {
            seen.stands && seen.gone.is_none() && !sent.contains_key(*id) && on.iter().any(|on| on.is_of(id))
        };
        News {
            begun: self.0.iter().filter(is_new).map(|(id, seen)| (id.clone(), seen.cause.clone())).collect(),
            over: sent.iter().filter(|(id, _)| !standing(id)).map(|(id, cause)| (id.clone(), cause.clone())).collect(),
            happened: Causes::new(),
        }
    }
}

/// The content of one message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) begun: Causes,
    pub(super) over: Causes,
    /// What has no end: payments.
    pub(super) happened: Causes,
}

impl News {
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.over.is_empty() && self.happened.is_empty()
    }
}

/// What was sent to a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    /// What is not over yet.
    pub(super) causes: Causes,
    /// From when payments are read, in Unix milliseconds.
    pub(super) payments_from: u64,
    /// The payments since then of which a notice was sent, with the times of their settlement.
    pub(super) payments: BTreeMap<String, u64>,
}

/// For how many milliseconds before the last look payments are read again: steps are committed a little later than they
/// are dated, and not in order.
const OVERLAP: u64 = 5 * 60 * 1000;

impl Sent {
    /// From when payments are read at `now` (Unix milliseconds): from there, if the clock was set back.
    pub(super) fn read_from(&self, now: u64) -> u64 {
        self.payments_from.min(now)
    }

    /// Adds what was sent, and drops what is not sent to it any more.
    pub(super) fn take(&mut self, news: News) {
        for id in news.over.keys() {
            self.causes.remove(id);
        }
        self.causes.extend(news.begun);
    }

    /// Records that a notice of these payments was sent, by stream and time of settlement, and that there are no others until
    /// `now`. If there were too many, no notice of the rest is sent.
    pub(super) fn take_payments(&mut self, payments: Vec<(String, u64)>, now: u64) {
        let is_complete = payments.len() < MAX_CAUSES;
        self.payments_from = if is_complete { now.saturating_sub(OVERLAP) } else { now };
        self.payments.extend(payments);
        self.payments.retain(|_, settled| *settled >= self.payments_from);
    }

    /// Drops what is not sent to it any more.
    pub(super) fn keep_only(&mut self, on: &[Trigger]) {
        self.causes.retain(|id, _| on.iter().any(|on| on.is_of(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: u64) -> Duration {
        MINUTE * u32::try_from(minutes).unwrap()
    }

    fn causes(trigger: Trigger, details: &[&str]) -> Causes {
        let cause = |detail: &str| Cause {
            on: trigger.name().to_owned(),
            what: format!("{detail} is away."),
            step: String::new(),
            over: format!("{detail} is back."),
            since: 0,
        };
        details.iter().map(|detail| (trigger.id(detail), cause(detail))).collect()
    }

    /// What is sent in this minute, as `+` what begins and `-` what is over.
    fn sent(attention: &Attention, on: &[Trigger], sent: &mut Sent) -> Vec<String> {
        let news = attention.news(on, &sent.causes);
        let detail = |id: &String| id.rsplit('/').next().unwrap().to_owned();
        let begun = news.begun.keys().map(|id| format!("+{}", detail(id)));
        let said = begun.chain(news.over.keys().map(|id| format!("-{}", detail(id)))).collect();
        sent.take(news);
        said
    }

    /// Relays that are lost in each minute, and what is said then.
    #[test]
    fn each_cause_is_told_once_when_it_has_lasted_and_once_when_it_is_over() {
        let relay = Trigger::Relay;
        let rows: &[(u64, &[&str], &[&str])] = &[
            (0, &["a"], &[]),
            (5, &["a", "b"], &[]),
            (9, &["a"], &[]),
            (10, &["a", "b"], &["+a"]),
            (15, &["b"], &[]),
            (19, &["a", "b"], &[]),
            (20, &["b"], &["+b"]),
            (29, &[], &[]),
            (30, &[], &["-a"]),
            (38, &[], &[]),
            (39, &["a"], &["-b"]),
            (48, &["a"], &[]),
            (49, &["a"], &["+a"]),
        ];
        let (mut attention, mut target) = (Attention::default(), Sent::default());
        for (minute, lost, said) in rows {
            attention.observe(relay, causes(relay, lost), at(*minute));
            assert_eq!(sent(&attention, &[relay], &mut target), *said, "minute {minute}");
            assert_eq!(sent(&attention, &[relay], &mut target), [""; 0], "minute {minute}, once more");
        }
        assert_eq!(sent(&attention, &[Trigger::Backup], &mut Sent::default()), [""; 0], "it has another trigger");
    }

    #[test]
    fn after_a_restart_nothing_is_repeated_and_no_end_is_lost() {
        let relay = Trigger::Relay;
        let mut before = Attention::default();
        let mut target = Sent::default();
        for minute in [0, 10] {
            before.observe(relay, causes(relay, &["a", "b"]), at(minute));
        }
        assert_eq!(sent(&before, &[relay], &mut target), ["+a", "+b"]);
        let stored = serde_json::to_string(&target).unwrap();

        let (mut after, mut target) = (Attention::default(), serde_json::from_str::<Sent>(&stored).unwrap());
        after.restore(&target.causes, at(0));
        assert_eq!(sent(&after, &[relay], &mut target), [""; 0], "nothing is known yet");
        let rows: &[(u64, &[&str])] = &[(0, &[]), (9, &[]), (10, &["-b"]), (60, &[])];
        for (minute, said) in rows {
            after.observe(relay, causes(relay, &["a"]), at(*minute));
            assert_eq!(sent(&after, &[relay], &mut target), *said, "minute {minute}");
        }
        target.keep_only(&[Trigger::Webhook]);
        assert!(target.causes.is_empty());
    }

    #[test]
    fn a_target_that_could_not_be_reached_learns_what_is_true_now() {
        let approval = Trigger::Approval;
        let (mut attention, mut sent_before, mut unreached) = (Attention::default(), Sent::default(), Sent::default());
        attention.observe(approval, causes(approval, &["a"]), at(0));
        assert_eq!(sent(&attention, &[approval], &mut sent_before), ["+a"]);
        attention.observe(approval, causes(approval, &["b"]), at(1));
        assert_eq!(sent(&attention, &[approval], &mut sent_before), ["+b", "-a"]);
        assert_eq!(sent(&attention, &[approval], &mut unreached), ["+b"]);
    }

    #[test]
    fn limits_of_different_targets_are_different_causes() {
        let [low, lower] = [1_000, 100].map(Trigger::BalanceBelow);
        assert!(!lower.is_of(&low.id("")));
        let mut attention = Attention::default();
        for minute in [0, 1] {
            attention.observe(low, causes(low, &[""]), at(minute));
            attention.observe(lower, Causes::new(), at(minute));
        }
        assert_eq!(attention.news(&[low], &Causes::new()).begun.len(), 1);
        assert!(attention.news(&[lower], &Causes::new()).is_empty());
    }

    #[test]
    fn payments_are_told_once_also_when_the_clock_is_set() {
        let pay = |n: u64, settled: u64| (n.to_string(), settled);
        let (minute, start) = (60_000, 1_800_000_000_000);
        let mut sent = Sent { payments_from: start, ..Sent::default() };
        assert_eq!(sent.read_from(start + minute), start);
        sent.take_payments(vec![pay(1, start + 1)], start + minute);
        assert_eq!(sent.read_from(start + minute), start + minute - OVERLAP);
        assert!(sent.payments.contains_key("1"), "it is read again");
        sent.take_payments(Vec::new(), start + 7 * minute);
        assert!(sent.payments.is_empty() && sent.read_from(start + 7 * minute) > start + 1, "and no longer");
        // Set back by an hour, and forward again.
        assert_eq!(sent.read_from(start - 60 * minute), start - 60 * minute);
        sent.take_payments(vec![pay(2, start - 59 * minute)], start - 58 * minute);
        assert!(sent.read_from(start) < start - 59 * minute && sent.payments.contains_key("2"));
        // So many that they are no news.
        let many = (0..).map(|n| pay(n, start)).take(MAX_CAUSES).collect();
        sent.take_payments(many, start + minute);
        assert_eq!((sent.read_from(start + minute), sent.payments.len()), (start + minute, 0));
    }
}
