//! The look-ups of Lightning addresses that run at a time: a server that does not respond holds a place for seconds, and a
//! payer can name as many servers as they like.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::kernel::per_network_limit::quota;
use crate::{ClientNetwork, StreamId};

/// Look-ups at a time; of these, two for one network and one for a refund.
const PLACES: usize = 16;

/// From which network each refund is looked up for.
#[derive(Default)]
pub(crate) struct AddressLookups(Mutex<HashMap<StreamId, ClientNetwork>>);

/// The place of a look-up; dropped, it is free again.
pub(super) struct Lookup<'a> {
    lookups: &'a AddressLookups,
    refund: StreamId,
}

impl AddressLookups {
    /// `None` when there is no room now.
    pub(super) fn begin(&self, refund: StreamId, network: ClientNetwork) -> Option<Lookup<'_>> {
        let mut places = self.0.lock();
        let of_network = places.values().filter(|other| **other == network).count();
        let is_full = places.len() >= PLACES || quota(network, PLACES).is_some_and(|quota| of_network >= quota);
        if is_full || places.contains_key(&refund) {
            return None;
        }
        places.insert(refund, network);
        Some(Lookup { lookups: self, refund })
    }
}

impl Drop for Lookup<'_> {
    fn drop(&mut self) {
        self.lookups.0.lock().remove(&self.refund);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::stream;

    #[test]
    fn one_payer_leaves_room_for_others() {
        let at = |n: u8| ClientNetwork::at([10, 0, 0, n].into());
        let lookups = AddressLookups::default();
        let first = lookups.begin(stream(1), at(1)).unwrap();
        assert!(lookups.begin(stream(1), at(2)).is_none(), "one for a refund");
        let second = lookups.begin(stream(2), at(1)).unwrap();
        assert!(lookups.begin(stream(3), at(1)).is_none(), "two for a network");
        let others: Vec<_> = (3..17).map(|n| lookups.begin(stream(n), at(n)).unwrap()).collect();
        assert!(lookups.begin(stream(17), at(17)).is_none(), "all are taken");
        drop((first, others));
        assert!(lookups.begin(stream(1), at(1)).is_some());
        drop(second);
        assert!(lookups.0.lock().is_empty());
    }
}
