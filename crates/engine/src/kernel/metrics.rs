use std::sync::atomic::{AtomicU64, Ordering};

use crate::OperationOutcome;
use crate::event::{EventType, NewEvent};
use crate::ports::{DeliveryStatus, OperationKind};

const KINDS: usize = OperationKind::ALL.len();
const OUTCOMES: usize = OperationOutcome::ALL.len();
const ATTEMPTS: usize = DeliveryStatus::ALL.len();
const TYPES: usize = EventType::ALL.len();

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    loaded: [AtomicU64; KINDS],
    started: [AtomicU64; KINDS],
    finished: [[AtomicU64; OUTCOMES]; KINDS],
    events: [AtomicU64; TYPES],
    matched: AtomicU64,
    unmatched: AtomicU64,
    sent: AtomicU64,
    store_failures: AtomicU64,
    step_defects: AtomicU64,
    attempts: [AtomicU64; ATTEMPTS],
}

/// The counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineMetrics {
    /// Operations by kind.
    pub operations: Vec<OperationMetrics>,
    /// Events by type.
    pub events: Vec<(EventType, u64)>,
    /// Messages from wallets for an open operation.
    pub matched: u64,
    /// Messages from wallets for no open operation: late, stray, or guessed.
    pub unmatched: u64,
    /// Messages passed to the relays, including repetitions.
    pub sent: u64,
    /// Steps that failed because the store failed; they are retried.
    pub store_failures: u64,
    /// Steps that failed because of a defect of the program.
    pub step_defects: u64,
    /// Posts to the webhook by result; `Pending` ones failed and are retried.
    pub attempts: Vec<(DeliveryStatus, u64)>,
}

/// The operations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationMetrics {
    /// The kind.
    pub kind: OperationKind,
    /// Open now.
    pub open: u64,
    /// Started since the engine started.
    pub started: u64,
    /// Finished since then, by outcome.
    pub finished: Vec<(OperationOutcome, u64)>,
}

impl Metrics {
    pub(crate) fn loaded(&self, kind: OperationKind) {
        add(self.loaded.get(slot(kind)));
    }

    pub(crate) fn started(&self, kind: OperationKind) {
        add(self.started.get(slot(kind)));
    }

    pub(crate) fn finished(&self, kind: OperationKind, outcome: OperationOutcome) {
        add(self.finished.get(slot(kind)).and_then(|kind| kind.get(outcome as usize)));
    }

    pub(crate) fn events(&self, events: &[NewEvent]) {
        for event in events {
            add(self.events.get(event.event_type as usize));
        }
    }

    pub(crate) fn received(&self, matched: bool) {
        add(Some(if matched { &self.matched } else { &self.unmatched }));
    }

    pub(crate) fn sent(&self) {
        add(Some(&self.sent));
    }

    pub(crate) fn store_failed(&self) {
        add(Some(&self.store_failures));
    }

    pub(crate) fn step_was_defective(&self) {
        add(Some(&self.step_defects));
    }

    /// Counts a post to the webhook; `status` is the delivery's new status.
    pub(crate) fn attempted(&self, status: DeliveryStatus) {
        add(self.attempts.get(usize::from(status.code())));
    }

    pub(crate) fn values(&self) -> EngineMetrics {
        let operations = OperationKind::ALL.into_iter().map(|kind| {
            let finished = self.finished.get(slot(kind));
            let finished = OperationOutcome::ALL
                .into_iter()
                .map(|outcome| (outcome, get(finished.and_then(|kind| kind.get(outcome as usize)))))
                .collect::<Vec<_>>();
            // Finished ones first: an operation that starts and finishes in between must not make `open` negative.
            let over: u64 = finished.iter().map(|(_, count)| count).sum();
            let started = get(self.started.get(slot(kind)));
            let open = (get(self.loaded.get(slot(kind))) + started).saturating_sub(over);
            OperationMetrics { kind, open, started, finished }
        });
        EngineMetrics {
            operations: operations.collect(),
            events: EventType::ALL.into_iter().map(|kind| (kind, get(self.events.get(kind as usize)))).collect(),
            matched: get(Some(&self.matched)),
            unmatched: get(Some(&self.unmatched)),
            sent: get(Some(&self.sent)),
            store_failures: get(Some(&self.store_failures)),
            step_defects: get(Some(&self.step_defects)),
            attempts: DeliveryStatus::ALL
                .into_iter()
                .map(|status| (status, get(self.attempts.get(usize::from(status.code())))))
                .collect(),
        }
    }
}

fn slot(kind: OperationKind) -> usize {
    // Not its number, because numbers may have gaps.
    OperationKind::ALL.iter().position(|other| *other == kind).unwrap_or_default()
}

fn add(counter: Option<&AtomicU64>) {
    if let Some(counter) = counter {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn get(counter: Option<&AtomicU64>) -> u64 {
    counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMillis;
    use crate::event_data::{EventData, LoginData};

    #[test]
    fn each_kind_type_and_outcome_has_its_own_counter() {
        assert!(OperationKind::ALL.into_iter().enumerate().all(|(index, kind)| slot(kind) == index));
        assert!(EventType::ALL.into_iter().enumerate().all(|(index, kind)| kind as usize == index));
        assert!(OperationOutcome::ALL.into_iter().enumerate().all(|(index, outcome)| outcome as usize == index));
        let labels: std::collections::HashSet<_> = OperationOutcome::ALL.map(OperationOutcome::as_str).into();
        assert_eq!(labels.len(), OUTCOMES);

        let data = EventData::Login(LoginData { status: "declined".to_owned(), ..LoginData::default() });
        let declined = NewEvent::new(&data, UnixMillis(0));
        let metrics = Metrics::default();
        metrics.loaded(OperationKind::KeyHandshake);
        metrics.started(OperationKind::KeyHandshake);
        metrics.started(OperationKind::Authentication);
        metrics.finished(OperationKind::Authentication, declined.outcome);
        let values = metrics.values();
        let of = |kind| values.operations.iter().find(|operation| operation.kind == kind).unwrap();
        assert_eq!((of(OperationKind::KeyHandshake).open, of(OperationKind::KeyHandshake).started), (2, 1));
        assert_eq!((of(OperationKind::Authentication).open, of(OperationKind::Authentication).started), (0, 1));
        let declined = (OperationOutcome::Declined, 1);
        assert!(of(OperationKind::Authentication).finished.contains(&declined));
        assert_eq!(of(OperationKind::Authentication).finished.iter().map(|(_, count)| count).sum::<u64>(), 1);
    }
}
