use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of calls by kind and result, both indexed by their positions in the lists of labels.
pub(crate) struct CallCounts<const KINDS: usize, const RESULTS: usize> {
    kinds: [&'static str; KINDS],
    results: [&'static str; RESULTS],
    counts: [[AtomicU64; RESULTS]; KINDS],
}

impl<const KINDS: usize, const RESULTS: usize> CallCounts<KINDS, RESULTS> {
    pub(crate) fn new(kinds: [&'static str; KINDS], results: [&'static str; RESULTS]) -> Self {
        let counts = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::default()));
        Self { kinds, results, counts }
    }

    pub(crate) fn count(&self, kind: usize, result: usize) {
        if let Some(count) = self.counts.get(kind).and_then(|results| results.get(result)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, &'static str, u64)> {
        let of_kind = |(kind, counts): (&'static str, &[AtomicU64; RESULTS])| {
            let counts = self.results.iter().zip(counts);
            counts.map(move |(result, count)| (kind, *result, count.load(Ordering::Relaxed))).collect::<Vec<_>>()
        };
        self.kinds.into_iter().zip(&self.counts).flat_map(of_kind).collect()
    }
}
