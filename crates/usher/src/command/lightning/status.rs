//! The state of the node as text.

use std::fmt::Write as _;

use serde_json::Value;

/// An amount of millisats in sats, with the rest if there is one.
pub(super) fn sats(millisats: u64) -> String {
    match millisats % 1000 {
        0 => format!("{} sat", millisats / 1000),
        rest => format!("{}.{rest:03} sat", millisats / 1000),
    }
}

pub(super) fn text(info: &Value, channels: &Value) -> String {
    let node = &info["node"];
    let amount = |value: &Value| sats(value.as_u64().unwrap_or(0));
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("node", node["node_id"].as_str().unwrap_or_default().to_owned());
    line("network", info["network"].as_str().unwrap_or("unknown").to_owned());
    line(
        "chain",
        match node["synced_at"].as_u64() {
            Some(at) => format!("block {}, processed at {at} (Unix seconds)", node["height"]),
            None => "not processed yet".to_owned(),
        },
    );
    line("can send", amount(&info["balance"]));
    line("can receive", format!("{} in one payment without a new channel", amount(&node["inbound"])));
    let on_chain = &node["on_chain"];
    line(
        "on chain",
        format!(
            "{}: {} can be spent, {} are kept for closing channels",
            amount(&on_chain["total"]),
            amount(&on_chain["spendable"]),
            amount(&on_chain["reserved"])
        ),
    );
    let pending = &node["pending"];
    line(
        "pending",
        format!(
            "{} payments sent, {} from closed channels, {} sent on chain",
            pending["payments"],
            amount(&pending["closing"]),
            amount(&pending["sending"])
        ),
    );
    line("kept", format!("{} by liquidity providers so far", amount(&node["skimmed_fees"])));
    let closures = &node["closures"];
    line(
        "closed",
        format!(
            "{} channels with the peer's agreement, {} by force ({} after a kill)",
            closures["cooperative"], closures["forced"], closures["after_kill"]
        ),
    );
    for channel in channels["channels"].as_array().into_iter().flatten() {
        let state = match (channel["usable"].as_bool(), channel["ready"].as_bool()) {
            (Some(true), _) => "usable",
            (_, Some(true)) => "peer away",
            _ => "opening",
        };
        line(
            "channel",
            format!(
                "{} {state}, can send {}, can receive {}, with {}",
                channel["channel_id"].as_str().unwrap_or_default(),
                amount(&channel["outbound"]),
                amount(&channel["inbound"]),
                channel["peer"].as_str().unwrap_or_default(),
            ),
        );
    }
    for warning in node["warnings"].as_array().into_iter().flatten() {
        line("warning", warning["text"].as_str().unwrap_or_default().to_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_shown_in_sats() {
        assert_eq!(sats(1_000), "1 sat");
        assert_eq!(sats(1_005), "1.005 sat");
    }

    #[test]
    fn channels_and_warnings_are_listed() {
        let info = json!({
            "backend": "embedded", "network": "regtest", "balance": 48_000_000,
            "node": {
                "node_id": "02ee", "synced_at": 5, "height": 7, "inbound": 50_000_000,
                "on_chain": { "total": 30_000_000, "spendable": 5_000_000, "reserved": 25_000_000 },
                "pending": { "payments": 1, "closing": 0, "sending": 7_141_000 }, "skimmed_fees": 2_000_000,
                "closures": { "cooperative": 1, "forced": 2, "after_kill": 1 },
                "warnings": [{ "code": "low_inbound", "text": "little" }],
            },
        });
        let channel = json!({ "channel_id": "ab", "peer": "03aa", "outbound": 1_000, "inbound": 2_000, "ready": true,
            "usable": false });
        insta::assert_snapshot!(text(&info, &json!({ "channels": [channel] })), @r"
        node         02ee
        network      regtest
        chain        block 7, processed at 5 (Unix seconds)
        can send     48000 sat
        can receive  50000 sat in one payment without a new channel
        on chain     30000 sat: 5000 sat can be spent, 25000 sat are kept for closing channels
        pending      1 payments sent, 0 sat from closed channels, 7141 sat sent on chain
        kept         2000 sat by liquidity providers so far
        closed       1 channels with the peer's agreement, 2 by force (1 after a kill)
        channel      ab peer away, can send 1 sat, can receive 2 sat, with 03aa
        warning      little
        ");
    }
}
