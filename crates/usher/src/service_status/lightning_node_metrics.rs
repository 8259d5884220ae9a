//! Metrics of the embedded Lightning node.

use usher_api::{Family, Measure};
use usher_engine::ports::NodeState;

use super::measures::{gauge, number};

pub(super) fn families(state: &NodeState) -> Vec<Family> {
    let single = |name, help, value| Family::single(name, help, number(value));
    let closures = &state.closures;
    let mut families = vec![
        Family {
            name: "usher_lightning_channels",
            help: "Channels of the Lightning node, by whether they can be used now.",
            samples: vec![
                gauge("state", "usable", state.channels.usable as u64),
                gauge("state", "unusable", state.channels.unusable as u64),
            ],
        },
        single(
            "usher_lightning_capacity_millisats",
            "What the channels of the Lightning node hold on both sides.",
            state.channels.capacity,
        ),
        single(
            "usher_lightning_outbound_millisats",
            "What the Lightning node can send over its channels.",
            state.outbound,
        ),
        single(
            "usher_lightning_inbound_millisats",
            "The largest payment that the Lightning node can receive without a new channel.",
            state.inbound,
        ),
        single(
            "usher_lightning_onchain_millisats",
            "The on-chain balance of the Lightning node.",
            state.on_chain.total,
        ),
        single(
            "usher_lightning_closing_millisats",
            "What is on its way from closed channels to the chain.",
            state.pending.closing,
        ),
        single(
            "usher_lightning_sending_millisats",
            "What is sent on chain, fees included, by transactions in no block yet.",
            state.pending.sending,
        ),
        single(
            "usher_lightning_chain_height",
            "The last block that the Lightning node has processed.",
            u64::from(state.height),
        ),
        Family::counters(
            "usher_lightning_channel_closures_total",
            "Channels of the Lightning node that were closed: with the peer's agreement, by force, or by force after the \
             process was killed.",
            "kind",
            [
                ("cooperative", closures.cooperative),
                ("forced", closures.forced.saturating_sub(closures.after_kill)),
                ("after_kill", closures.after_kill),
            ],
        ),
        Family::single(
            "usher_lightning_skimmed_fees_millisats_total",
            "What liquidity providers have kept for opening channels.",
            Measure::Counter(state.skimmed_fees),
        ),
        Family {
            name: "usher_lightning_warnings",
            help: "What the operator of the Lightning node should know, by its code: see GET /wallet/info.",
            samples: state.warnings.iter().map(|warning| gauge("code", warning.code, 1)).collect(),
        },
    ];
    families.extend(state.synced_at.map(|at| {
        single(
            "usher_lightning_synced_timestamp_seconds",
            "When the Lightning node last processed the chain, in Unix seconds.",
            at,
        )
    }));
    families
}
