//! What must hold of the lease whatever happens to the instances.

use super::instance::Instance;
use crate::world::State;
use crate::world::instances::LEASE;

/// How long a free lease may stay free while somebody waits for it, in milliseconds: the interval between two looks of a standby
/// (250 ms), the way to the database and back, and steps of the simulation.
const TAKEN_WITHIN: u64 = 500;

/// How long an instance has to be well to count as waiting, in milliseconds: a request that was lost is given up after the
/// duration of a lease.
const WELL_FOR: u64 = 5_500;

#[derive(Default)]
pub(super) struct TakeoverRules {
    /// Since when the lease is free while somebody could take it.
    free_since: Option<u64>,
}

impl TakeoverRules {
    pub(super) fn check(&mut self, state: &mut State, instances: &[Instance], now: u64) {
        let believe: Vec<usize> = instances
            .iter()
            .enumerate()
            .filter(|(_, instance)| instance.known.lock().gate.as_ref().is_some_and(|gate| gate.is_open()))
            .map(|(number, _)| number)
            .collect();
        // When the database's clock leaps ahead, the owner finds out at its next renewal.
        if believe.len() > 1 && !state.instances.lease.leapt_within(now, LEASE) {
            state.violation("one-is-active", &format!("instances {believe:?} believe that they hold the lease"));
        }
        let could_take = instances.iter().enumerate().any(|(number, instance)| {
            let waits = instance.known.lock().waits_since;
            let well_since = waits.map(|since| since.max(state.instances.reaches_database_since(number)));
            instance.paused_until.is_none() && well_since.is_some_and(|since| since + WELL_FOR < now)
        });
        let is_free = state.instances.lease.remaining(now).is_none();
        if !(is_free && could_take) {
            self.free_since = None;
            return;
        }
        let since = *self.free_since.get_or_insert(now);
        if now - since > TAKEN_WITHIN {
            state.violation("taken-over-in-time", &format!("nobody took the lease for {} ms", now - since));
            self.free_since = None;
        }
    }
}
