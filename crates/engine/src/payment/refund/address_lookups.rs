//! Limits concurrent look-ups of Lightning addresses: an unresponsive server occupies a place for seconds, and a payer
//! can name any number of servers.

use usher_places::{Holder, Place, SharedPlaces, limit};

use crate::{ClientNetwork, StreamId};

pub(crate) struct AddressLookups {
    all: SharedPlaces,
    of_refunds: SharedPlaces,
}

impl Default for AddressLookups {
    fn default() -> Self {
        Self {
            all: SharedPlaces::new(limit::REFUND_LOOKUPS.fixed()),
            of_refunds: SharedPlaces::new(limit::LOOKUPS_OF_REFUNDS.fixed()),
        }
    }
}

impl AddressLookups {
    /// The places for a look-up; `None` if there is no room.
    pub(super) fn begin(&self, refund: StreamId, network: ClientNetwork) -> Option<[Place; 2]> {
        let of_refund = self.of_refunds.take(&Holder::key(&refund.to_string())).ok()?;
        Some([of_refund, self.all.take(&network.into()).ok()?])
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
        assert_eq!((lookups.all.taken(), lookups.of_refunds.taken()), (0, 0));
    }
}
