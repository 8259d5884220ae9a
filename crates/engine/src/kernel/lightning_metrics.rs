use std::sync::atomic::{AtomicU64, Ordering};

use crate::ports::LightningError;

#[derive(Clone, Copy, Debug)]
pub(crate) enum LightningCallKind {
    MakeInvoice,
    Pay,
    LookUpInvoice,
    LookUpPayment,
}

const KINDS: [&str; 4] = ["make_invoice", "pay", "look_up_invoice", "look_up_payment"];

const RESULTS: [&str; 4] = ["answered", "refused", "not_sent", "unknown"];

#[derive(Default)]
pub(crate) struct LightningMetrics([[AtomicU64; RESULTS.len()]; KINDS.len()]);

impl LightningMetrics {
    pub(crate) fn count<T>(&self, kind: LightningCallKind, result: &Result<T, LightningError>) {
        let result = match result {
            Ok(_) => 0,
            Err(LightningError::Refused { .. } | LightningError::Failed(_)) => 1,
            Err(LightningError::NotSent) => 2,
            Err(LightningError::Unknown(_)) => 3,
        };
        if let Some(count) = self.0.get(kind as usize).and_then(|results| results.get(result)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, &'static str, u64)> {
        let of_kind = |(kind, counts): (&'static str, &[AtomicU64; RESULTS.len()])| {
            RESULTS
                .iter()
                .zip(counts)
                .map(move |(result, count)| (kind, *result, count.load(Ordering::Relaxed)))
                .collect::<Vec<_>>()
        };
        KINDS.into_iter().zip(&self.0).flat_map(of_kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_result_has_its_own_counter() {
        let metrics = LightningMetrics::default();
        metrics.count(LightningCallKind::MakeInvoice, &Ok(()));
        metrics.count::<()>(LightningCallKind::LookUpPayment, &Err(LightningError::NotSent));
        metrics.count::<()>(LightningCallKind::Pay, &Err(LightningError::Failed("no route".to_owned())));
        let counted: Vec<_> = metrics.values().into_iter().filter(|(_, _, count)| *count > 0).collect();
        assert_eq!(
            counted,
            [("make_invoice", "answered", 1), ("pay", "refused", 1), ("look_up_payment", "not_sent", 1)]
        );
    }
}
