//! `usher tickets …`

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use usher_engine::ports::{MintAuthToken, SystemClock, TicketBalance};
use usher_protocol::mint_url;
use usher_tickets::{RestoredTickets, SecretsOf, SetAsideCheck};

use super::environment::{config_of, load_in_time, source};
use crate::cli::TicketsCommand;
use crate::config::setting::LogFormat;
use crate::config::{Config, Source};
use crate::database::CommandDatabase;
use crate::failure::Failure;
use crate::identity::identity;
use crate::logging::{self, Output};
use crate::output::{tell, write};
use crate::service_lifecycle::make_data_dir;
use crate::ticket_wallet;

/// Longest file with the token of a mint, in bytes.
const MAX_TOKEN_BYTES: usize = 4096;

pub(crate) fn run(command: &TicketsCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let config = config_of(&loaded)?;
    logging::start(LogFormat::Text, Output::Stderr, "warn", None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let text = runtime.block_on(async {
        match command {
            TicketsCommand::Balances => balances(config, &source).await,
            TicketsCommand::Check => check(config, &source).await,
            TicketsCommand::Restore { mint_url, static_token_file, former_address, development_build } => {
                let secrets = match former_address {
                    Some(former) => SecretsOf::FormerAddress(address(former)?),
                    None if *development_build => SecretsOf::AnyAddress,
                    None => SecretsOf::ThisAddress,
                };
                restore(config, &source, mint_url, &secrets, static_token_file.as_deref()).await
            }
        }
    })?;
    Ok(write(&text)?)
}

async fn balances(config: &Config, source: &Source) -> Result<String, Failure> {
    let database = open_existing(config, source).await?;
    let balances = database.store.ticket_balances().await;
    database.close().await;
    let balances = balances?;
    if balances.is_empty() {
        tell("usher: the ticket wallet is empty");
    }
    for TicketBalance { mint_url, unit, set_aside, .. } in balances.iter().filter(|balance| balance.set_aside > 0) {
        tell(&format!(
            "usher: {set_aside} {unit} {mint_url} are set aside, because the mint says that they are spent, and this service \
             has not spent them: `usher tickets check` asks the mint again"
        ));
    }
    Ok(lines(&balances, |balance| balance.amount))
}

async fn check(config: &Config, source: &Source) -> Result<String, Failure> {
    let database = open_existing(config, source).await?;
    let wallet =
        ticket_wallet::open(config, &identity(config).keys, Arc::clone(&database.store), Arc::new(SystemClock))?;
    let checked = wallet.check_set_aside().await;
    wallet.close().await;
    database.close().await;
    let SetAsideCheck { returned, set_aside, not_asked } = checked?;
    for TicketBalance { mint_url, unit, amount, .. } in &returned {
        tell(&format!("usher: {amount} {unit} {mint_url} are unspent: they are back in the balance"));
    }
    for mint_url in &not_asked {
        tell(&format!("usher: {mint_url} did not respond, or refused; try again later"));
    }
    if set_aside.is_empty() {
        tell("usher: nothing is set aside");
    }
    Ok(lines(&set_aside, |balance| balance.set_aside))
}

/// The normal form of a mint's address.
fn address(text: &str) -> Result<String, Failure> {
    mint_url::normalize(text)
        .ok_or_else(|| Failure::usage("the mint must be an http(s) URL without credentials, query and fragment"))
}

async fn restore(
    config: &Config,
    source: &Source,
    mint: &str,
    secrets: &SecretsOf,
    token_file: Option<&Path>,
) -> Result<String, Failure> {
    let mint = address(mint)?;
    let auth = token_file.map(mint_token).transpose()?;
    make_data_dir(&source.data_dir)?;
    let database = open(config, source).await?;
    let wallet =
        ticket_wallet::open(config, &identity(config).keys, Arc::clone(&database.store), Arc::new(SystemClock))?;
    let restored = wallet.restore(&mint, secrets, auth.as_ref()).await;
    wallet.close().await;
    database.close().await;
    let restored = restored?;
    let mut balances = Vec::new();
    for RestoredTickets { unit, amount, pending, .. } in restored {
        if pending > 0 {
            tell(&format!(
                "usher: {pending} {unit} are being spent at this moment, so what has the same keyset was not restored: run \
                 the command again when the mint has finished, for some mints after their next restart"
            ));
        }
        if amount > 0 {
            balances.push(TicketBalance { mint_url: mint.clone(), unit, amount, set_aside: 0 });
        }
    }
    if balances.is_empty() {
        tell(&format!(
            "usher: {mint} holds nothing for this key that the database lacks; if the service has used this mint under \
             another address, name it with --former-address"
        ));
    }
    Ok(lines(&balances, |balance| balance.amount))
}

/// The token in a file, without trailing line breaks.
fn mint_token(path: &Path) -> Result<MintAuthToken, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::said(format!("cannot read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES as u64 + 2).read_to_string(&mut text).map_err(|error| failed(&error))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed(&"it must hold 1 to 4096 visible ASCII characters"));
    }
    Ok(MintAuthToken(token.to_owned()))
}

/// Opens the database exclusively.
async fn open(config: &Config, source: &Source) -> Result<CommandDatabase, Failure> {
    CommandDatabase::open(config, &source.data_dir).await.map_err(|failure| match failure {
        Failure::Other(error) => Failure::said(format!(
            "{error}; stop the service first (while it runs, GET /cashu/balances shows the balances)"
        )),
        failure => failure,
    })
}

async fn open_existing(config: &Config, source: &Source) -> Result<CommandDatabase, Failure> {
    let path = source.data_dir.join(config.database.path.as_str());
    if config.database.url.is_none() && !path.exists() {
        return Err(Failure::said(format!("there is no database at {}", path.display())));
    }
    open(config, source).await
}

/// Lines with amount, unit and mint, without zero amounts.
fn lines(balances: &[TicketBalance], amount: fn(&TicketBalance) -> u64) -> String {
    let mut text = String::new();
    for balance in balances.iter().filter(|balance| amount(balance) > 0) {
        let (amount, TicketBalance { mint_url, unit, .. }) = (amount(balance), balance);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{amount} {unit} {mint_url}");
    }
    text
}
