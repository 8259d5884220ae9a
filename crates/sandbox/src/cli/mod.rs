//! `usher wallet …`: the reference wallet in a terminal or a script.
//!
//! Relays do not store requests. So `requests` saves what arrives (still encrypted) in the wallet file; `approve` and
//! `decline` answer saved requests, or wait until the service repeats one. `run` and `usher dev` stay connected and
//! save what waits for the user.

mod account_commands;
mod arguments;
mod console;
mod display;
mod error;
mod interactive;
mod one_shot;
mod respond;
mod ticket_commands;

use std::path::Path;

use tokio_util::sync::CancellationToken;

pub use arguments::{AutoReaction, WalletArgs, WalletCommand};
pub use console::Console;
pub use error::CliError;

use crate::wallet::{Policy, TicketAmount};

/// Runs a command on the wallet file of the arguments, or on `default_file`, until it is done or `stop` is cancelled.
///
/// # Errors
/// [`CliError`], also when no request arrived in time: scripts see this in the exit code.
pub async fn run(
    args: WalletArgs,
    default_file: &Path,
    mut console: Console,
    stop: CancellationToken,
) -> Result<(), CliError> {
    let file = args.wallet.as_deref().unwrap_or(default_file);
    console.set_json(args.json);
    let command = one_shot::OneShot { file, console: &mut console };
    let work = async move {
        match args.command {
            WalletCommand::New { relay, device_of, name } => command.new_wallet(relay, device_of.as_deref(), name),
            WalletCommand::Show => command.show(),
            WalletCommand::Open { url } => command.open(&url).await,
            WalletCommand::Login { url, wait } => command.login(&url, wait.0).await,
            WalletCommand::Requests { wait } => command.requests(wait.0).await,
            WalletCommand::Connect { url } => command.connect(&url),
            WalletCommand::Balance => command.balance().await,
            WalletCommand::Approve { id, amount, wait } => {
                command.answer(id, respond::Reply::Approve { amount }, wait.0).await
            }
            WalletCommand::Decline { id, reason, wait } => {
                command.answer(id, respond::Reply::Decline(reason), wait.0).await
            }
            WalletCommand::Fail { id, reason, wait } => command.answer(id, respond::Reply::Fail(reason), wait.0).await,
            WalletCommand::Tickets => command.tickets().await,
            WalletCommand::Give { amount, unit, mint } => {
                command.give_ticket(TicketAmount { amount, unit, mint_url: mint }).await
            }
            WalletCommand::Take { token } => command.take_ticket(&token).await,
            WalletCommand::TakeBack { id } => command.take_back(&id).await,
            WalletCommand::MintToken { mint, token } => command.mint_token(&mint, &token),
            WalletCommand::Subscriptions => command.subscriptions(),
            WalletCommand::Close { subscription_id, reason } => {
                command.close(&subscription_id, reason.as_deref()).await
            }
            WalletCommand::Run { auto, delay, reason, strangers, pay_subscriptions, no_tickets } => {
                let policy = Policy {
                    reaction: auto.map(|auto| auto.reaction(reason)),
                    delay: delay.0,
                    strangers,
                    auto_pay: pay_subscriptions,
                    receive_tickets: !no_tickets,
                };
                interactive::InteractiveWallet::start(command.file, command.console, policy).await?.run().await
            }
        }
    };
    stop.run_until_cancelled(work).await.unwrap_or(Ok(()))
}
