//! What can be received and sent over the existing channels.

use ldk_node::ChannelDetails;

/// The weight of a commitment transaction with anchors and two payments in flight, in weight units (BOLT 3: 1124, and
/// 172 for each payment).
const COMMITMENT_WEIGHT: u64 = 1124 + 2 * 172;

/// Two anchor outputs, in sats (BOLT 3).
const ANCHORS: u64 = 660;

/// How many channels a payer can be expected to use for one payment; an invoice names at most three.
const PARTS: usize = 3;

/// The largest payment, in millisats, that the node can receive: over one channel, and over several at once, which only
/// some payers support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receivable {
    pub(crate) at_once: u64,
    pub(crate) in_parts: u64,
}

impl Receivable {
    /// The rest for another invoice if `reserved` is reserved by open ones. Payers choose the channels, so it is
    /// subtracted from both limits.
    pub(crate) const fn without(self, reserved: u64) -> Self {
        Self { at_once: self.at_once.saturating_sub(reserved), in_parts: self.in_parts.saturating_sub(reserved) }
    }
}

pub(crate) fn receivable(channels: &[ChannelDetails]) -> Receivable {
    let usable = channels.iter().filter(|channel| channel.is_usable);
    limits(usable.map(|channel| {
        let feerate = u64::from(channel.feerate_sat_per_1000_weight);
        inbound(channel.inbound_capacity_msat, channel.inbound_htlc_maximum_msat, channel.is_outbound, feerate)
    }))
}

/// What can be sent over the usable channels, in millisats: the sum of their limits.
pub(crate) fn sendable(channels: &[ChannelDetails]) -> u64 {
    channels.iter().filter(|channel| channel.is_usable).map(|channel| channel.next_outbound_htlc_limit_msat).sum()
}

fn limits(channels: impl Iterator<Item = u64>) -> Receivable {
    let mut channels: Vec<u64> = channels.collect();
    channels.sort_unstable_by(|left, right| right.cmp(left));
    Receivable { at_once: channels.first().copied().unwrap_or(0), in_parts: channels.iter().take(PARTS).sum() }
}

/// One channel's limit: its capacity and the maximum in flight. If the peer opened the channel, it pays the fee of the
/// commitment transaction from its side, here for twice the current fee rate.
fn inbound(capacity: u64, in_flight: Option<u64>, ours: bool, feerate: u64) -> u64 {
    let fee = if ours { 0 } else { (COMMITMENT_WEIGHT * feerate * 2 / 1000 + ANCHORS) * 1000 };
    capacity.saturating_sub(fee).min(in_flight.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_that_opened_a_channel_keeps_the_commitment_fee() {
        assert_eq!(inbound(10_000_000, None, true, 250), 10_000_000);
        // 1,468 weight units at 500 sats per 1,000, and the anchors.
        assert_eq!(inbound(10_000_000, None, false, 250), 10_000_000 - (734 + 660) * 1000);
        assert_eq!(inbound(500_000, None, false, 250), 0);
    }

    #[test]
    fn what_may_be_in_flight_is_a_limit() {
        assert_eq!(inbound(10_000_000, Some(1_000_000), true, 250), 1_000_000);
    }

    #[test]
    fn the_largest_channel_counts_alone_and_three_together() {
        let receivable = limits([1, 5, 3, 4].into_iter());
        assert_eq!(receivable, Receivable { at_once: 5, in_parts: 12 });
        assert_eq!(receivable.without(6), Receivable { at_once: 0, in_parts: 6 });
        assert_eq!(limits(std::iter::empty()), Receivable { at_once: 0, in_parts: 0 });
    }
}
