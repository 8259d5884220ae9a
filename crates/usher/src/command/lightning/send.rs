//! `usher lightning send`: sends money from the on-chain balance.

use serde_json::{Value, json};
use uuid::Uuid;

use super::node::{millisats, node};
use super::{ServiceClient, status};
use crate::confirmation::confirm;
use crate::failure::Failure;
use crate::output::tell;

/// How long to wait for the transaction, in seconds; the service continues in any case.
const WAIT: u32 = 30;

pub(super) async fn run(
    service: &ServiceClient,
    (address, amount, fee_rate): (&str, &str, Option<u64>),
    fee: &str,
    yes: bool,
) -> Result<String, Failure> {
    let wanted = match amount {
        "all" => json!("all"),
        sats => json!(millisats(
            sats.parse().map_err(|_| Failure::usage("the amount must be a number of sats, or `all`"))?
        )?),
    };
    let on_chain = &node(service).await?["node"]["on_chain"];
    let spendable = status::sats(on_chain["spendable"].as_u64().unwrap_or(0));
    let reserved = status::sats(on_chain["reserved"].as_u64().unwrap_or(0));
    let words = if amount == "all" { "all that the node can spend".to_owned() } else { format!("{amount} sat") };
    tell(&format!("usher: sends {words} to {address}; this cannot be taken back"));
    tell(&format!("usher: {fee}"));
    tell(&format!("usher: the node can spend {spendable}, less that fee; {reserved} are kept for closing channels"));
    confirm(yes)?;
    let mut body = json!({ "address": address, "amount": wanted });
    if let Some(rate) = fee_rate {
        body["fee_rate"] = json!(rate);
    }
    let started = service.post("/wallet/send", &body, Some(&Uuid::now_v7().to_string())).await?;
    let stream = started["stream_id"].as_str().unwrap_or_default();
    let page = service.get(&format!("/events/{stream}?wait={WAIT}")).await?;
    told(stream, &page["events"][0]["data"])
}

fn told(stream: &str, data: &Value) -> Result<String, Failure> {
    match data["status"].as_str() {
        Some("approval_required") => {
            Ok(format!("it waits until somebody else approves it (docs/approvals.md); its stream is {stream}\n"))
        }
        Some("error") => Err(Failure::said(data["reason"].as_str().unwrap_or("nothing was sent"))),
        Some(_) => Ok(format!(
            "sending {} with a fee of {}: transaction {} (stream {stream})\n",
            status::sats(data["amount_millisats"].as_u64().unwrap_or(0)),
            status::sats(data["fees_paid"].as_u64().unwrap_or(0)),
            data["txid"].as_str().unwrap_or_default()
        )),
        None => Ok(format!("the service sends it; its stream is {stream}\n")),
    }
}
