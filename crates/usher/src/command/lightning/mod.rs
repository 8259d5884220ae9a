//! `usher lightning …`: the Lightning node that the service runs itself, managed through the running service.

mod miner_fee;
mod node;
mod refused_data;
mod send;
mod status;

use std::path::PathBuf;

use serde_json::{Value, json};
use usher_engine::ports::{Clock as _, SystemClock};
use uuid::Uuid;

use self::node::{millisats, node};
use super::environment::{config_of, load_in_time, source};
use super::service_client::ServiceClient;
use crate::cli::LightningCommand;
use crate::config::Config;
use crate::confirmation::confirm;
use crate::failure::Failure;
use crate::output::{tell, write};

pub(crate) fn run(command: &LightningCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let decision = match command {
        LightningCommand::Abandon { yes } => Some((refused_data::Decision::Abandon, *yes)),
        LightningCommand::Adopt { yes } => Some((refused_data::Decision::Adopt, *yes)),
        _ => None,
    };
    if let Some((decision, yes)) = decision {
        let config = config_of(&loaded)?;
        return runtime.block_on(refused_data::run(decision, config, &source, yes));
    }
    let service = ServiceClient::new(&loaded, &source.data_dir)?;
    let text = runtime.block_on(async {
        match command {
            LightningCommand::Status { json } => {
                let (info, channels) = (node(&service).await?, service.get("/wallet/channels").await?);
                Ok(if *json { pretty(&with_channels(info, &channels))? } else { status::text(&info, &channels) })
            }
            LightningCommand::Address => {
                let created = service.post("/wallet/addresses", &json!({}), None).await?;
                Ok(format!("{}\n", created["address"].as_str().unwrap_or_default()))
            }
            LightningCommand::Price { amount } => price(&service, millisats(*amount)?).await,
            LightningCommand::Open { amount, peer, yes } => {
                let config = config_of(&loaded)?;
                open(&service, config, *amount, peer.as_deref(), *yes).await
            }
            LightningCommand::Close { channel, force, yes } => close(&service, channel, *force, *yes).await,
            LightningCommand::Send { address, amount, fee_rate, yes } => {
                let config = config_of(&loaded)?;
                let fee = miner_fee::of_payment(config, *fee_rate).await;
                send::run(&service, (address, amount, *fee_rate), &fee, *yes).await
            }
            LightningCommand::Backup => backup(&service).await,
            LightningCommand::Abandon { .. } | LightningCommand::Adopt { .. } => Ok(String::new()),
        }
    });
    Ok(write(&text?)?)
}

async fn price(service: &ServiceClient, amount: u64) -> Result<String, Failure> {
    let cost = service.post("/wallet/receiving-cost", &json!({ "amount": amount }), None).await?;
    let fee = cost["opening_fee"].as_u64().unwrap_or(0);
    Ok(if cost["opens_channel"] == true {
        format!(
            "the liquidity provider would open a channel and keep {} of {}\n",
            status::sats(fee),
            status::sats(amount)
        )
    } else {
        "the channels can receive it: nothing is kept\n".to_owned()
    })
}

async fn open(
    service: &ServiceClient,
    config: &Config,
    amount: u64,
    peer: Option<&str>,
    yes: bool,
) -> Result<String, Failure> {
    let on_chain = &node(service).await?["node"]["on_chain"];
    let with = peer.unwrap_or("the liquidity provider");
    tell(&format!("usher: opens a channel of {amount} sat with {with}"));
    tell(&format!("usher: {}", miner_fee::text(config).await));
    tell(&format!(
        "usher: the node can spend {} of its on-chain balance, less that fee",
        status::sats(on_chain["spendable"].as_u64().unwrap_or(0))
    ));
    confirm(yes)?;
    let body = json!({ "amount": millisats(amount)?, "peer": peer });
    let opened = service.post("/wallet/channels", &body, Some(&Uuid::now_v7().to_string())).await?;
    Ok(format!(
        "{} a channel with {}\n",
        opened["status"].as_str().unwrap_or_default(),
        opened["peer"].as_str().unwrap_or_default()
    ))
}

async fn close(service: &ServiceClient, channel: &str, force: bool, yes: bool) -> Result<String, Failure> {
    if channel.is_empty() || !channel.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Failure::usage("the channel must be an id of `usher lightning status`"));
    }
    tell(if force {
        "usher: closes the channel without its peer: the money is locked for hours to days, and the miner fees are higher"
    } else {
        "usher: closes the channel with its peer's agreement: it costs the miner fee of one transaction"
    });
    confirm(yes)?;
    service.post(&format!("/wallet/channels/{channel}/close"), &json!({ "force": force }), None).await?;
    Ok("closing: the money is in the on-chain balance when the closing transaction is confirmed\n".to_owned())
}

/// The list of channels, needed with the mnemonic to recover them: not secret, and harmless even if outdated.
pub(super) async fn backup(service: &ServiceClient) -> Result<String, Failure> {
    let (info, channels) = (node(service).await?, service.get("/wallet/channels").await?);
    pretty(&json!({
        "written_at": SystemClock.now().secs(),
        "network": info["network"],
        "node_id": info["node"]["node_id"],
        "channels": channels["channels"],
    }))
}

fn with_channels(mut info: Value, channels: &Value) -> Value {
    info["node"]["channels"]["list"] = channels["channels"].clone();
    info
}

fn pretty(value: &Value) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
