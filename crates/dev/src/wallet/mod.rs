//! `usher wallet …`: the reference wallet in a terminal or a script.
//!
//! Relays do not store requests. So `requests` saves arriving ones (still encrypted) in the wallet file; `approve` and
//! `decline` answer saved requests, or wait until the service repeats one. `run` and `usher dev` stay connected and
//! save pending requests.

mod account_commands;
mod console;
mod display;
mod error;
mod interactive;
mod one_shot;
mod respond;
mod ticket_commands;

use std::path::{Path, PathBuf};

use usher::cli::{AutoReaction, WalletArgs, WalletCommand};
use usher::command::environment::source;
use usher::config::setting::LogFormat;
use usher::failure::Failure;
use usher::logging::{self, Output};
use usher::service_lifecycle::make_data_dir;
use usher::signals::Signals;
use usher_sandbox::wallet::{Policy, Reaction, TicketAmount};

use self::console::Console;
use self::error::CliError;
use self::interactive::InteractiveWallet;
use self::one_shot::OneShot;
pub(crate) use self::respond::{NOTHING_SENT, Reply, SentReply};
use self::ticket_commands::{argument, give_ticket, show_tickets, take_back, take_ticket, tickets_of};

/// The default log filter.
const USUAL_LOG: &str = "warn";

/// Runs the command to its end or until a signal.
///
/// # Errors
/// If the wallet fails, or the awaited request did not arrive.
pub(crate) fn run(arguments: WalletArgs, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    // Without a home directory there is no default data directory; a named wallet needs none.
    let file = match &arguments.wallet {
        Some(file) => file.clone(),
        None => {
            let data_dir = source(data_dir)?.data_dir;
            if matches!(arguments.command, WalletCommand::New { .. }) {
                make_data_dir(&data_dir)?;
            }
            data_dir.join("wallet.json")
        }
    };
    // Standard output is for the result.
    logging::start(LogFormat::Text, Output::Stderr, USUAL_LOG, None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            done = execute(arguments, &file) => done.map_err(failed),
            _ = signals.next() => Ok(()),
        }
    });
    // A blocked read of standard input cannot be interrupted.
    runtime.shutdown_background();
    outcome
}

fn failed(error: CliError) -> Failure {
    if error.is_usage() { Failure::usage(error.to_string()) } else { error.into() }
}

/// Executes a command on the wallet file.
///
/// # Errors
/// [`CliError`], also if no request arrived in time, so that scripts see it in the exit code.
async fn execute(arguments: WalletArgs, file: &Path) -> Result<(), CliError> {
    let mut console = Console::terminal(arguments.json);
    let command = OneShot { file, console: &mut console };
    match arguments.command {
        WalletCommand::New { relay, device_of, name } => command.new_wallet(relay, device_of.as_deref(), name),
        WalletCommand::Show => command.show(),
        WalletCommand::Open { url } => command.open(&url).await,
        WalletCommand::Login { url, wait } => command.login(&url, wait.0).await,
        WalletCommand::Requests { wait } => command.requests(wait.0).await,
        WalletCommand::Connect { url } => command.connect(&url),
        WalletCommand::Balance => command.balance().await,
        WalletCommand::Approve { id, amount, wait } => command.answer(id, Reply::Approve { amount }, wait.0).await,
        WalletCommand::Decline { id, reason, wait } => command.answer(id, Reply::Decline(reason), wait.0).await,
        WalletCommand::Fail { id, reason, wait } => command.answer(id, Reply::Fail(reason), wait.0).await,
        WalletCommand::Tickets => show_tickets(command.console, &tickets_of(file)?).await,
        WalletCommand::Give { amount, unit, mint } => {
            give_ticket(command.console, &tickets_of(file)?, &TicketAmount { amount, unit, mint_url: mint }).await
        }
        WalletCommand::Take { token } => take_ticket(command.console, &tickets_of(file)?, &argument(&token)?).await,
        WalletCommand::TakeBack { id } => take_back(command.console, &tickets_of(file)?, &id).await,
        WalletCommand::MintToken { mint, token } => command.mint_token(&mint, &token),
        WalletCommand::Subscriptions => command.subscriptions(),
        WalletCommand::Close { subscription_id, reason } => command.close(&subscription_id, reason.as_deref()).await,
        WalletCommand::Run { auto, delay, reason, strangers, pay_subscriptions, no_tickets } => {
            let policy = Policy {
                reaction: auto.map(|auto| match auto {
                    AutoReaction::Approve => Reaction::Approve,
                    AutoReaction::Decline => Reaction::Decline(reason),
                }),
                delay: delay.0,
                strangers,
                auto_pay: pay_subscriptions,
                receive_tickets: !no_tickets,
            };
            InteractiveWallet::start(command.file, command.console, policy).await?.run().await
        }
    }
}
