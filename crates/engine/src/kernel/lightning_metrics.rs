use super::call_counts::CallCounts;
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

pub(crate) struct LightningMetrics(CallCounts<{ KINDS.len() }, { RESULTS.len() }>);

impl Default for LightningMetrics {
    fn default() -> Self {
        Self(CallCounts::new(KINDS, RESULTS))
    }
}

impl LightningMetrics {
    pub(crate) fn count<T>(&self, kind: LightningCallKind, result: &Result<T, LightningError>) {
        let result = match result {
            Ok(_) => 0,
            Err(LightningError::Refused { .. } | LightningError::Failed(_)) => 1,
            Err(LightningError::NotSent) => 2,
            Err(LightningError::Unknown(_)) => 3,
        };
        self.0.count(kind as usize, result);
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.0.values()
    }
}
