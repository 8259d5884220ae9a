//! The state of the node as text.

use std::fmt::Write as _;

use serde_json::Value;

/// Millisats as sats, with a fraction if necessary.
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
        // Writing to a string cannot fail.
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
