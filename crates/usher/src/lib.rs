//! The program: command line, configuration, wiring, start and stop. It connects all crates, and depends on none of
//! their internals.

mod chain_source;
pub mod cli;
pub mod command;
pub mod config;
mod confirmation;
pub mod database;
pub mod doctor;
pub mod failure;
mod identity;
mod last_backup;
mod lightning_backend;
pub mod local_instance;
pub mod logging;
mod notices;
pub mod notify;
mod openid;
pub mod output;
pub mod process;
mod profile_directory;
pub mod service_lifecycle;
mod service_mode;
mod service_options;
mod service_status;
pub mod signals;
pub mod standby;
mod task_group;
mod ticket_wallet;
mod unusable_data;
pub mod version;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};
use crate::failure::{EX_USAGE, Failure};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs the program with the arguments and environment of this process; `execute` runs the command.
pub fn run(execute: impl FnOnce(Cli) -> Result<(), Failure>) -> ExitCode {
    if fail::has_failpoints() {
        // Only in test builds, which set FAILPOINTS. Never torn down.
        std::mem::forget(fail::FailScenario::setup());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // The parser returns help and version as errors. A closed terminal is not a failure.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(EX_USAGE) } else { ExitCode::SUCCESS };
        }
    };
    process::keep_files_private();
    match execute(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Runs a command.
///
/// # Errors
/// If it fails.
pub fn execute(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Init(init) => command::init::run(&init, cli.data_dir),
        Command::Serve => command::serve::run(cli.data_dir),
        Command::Health(health) => command::health::run(&health, cli.data_dir),
        Command::Dev(_) | Command::Wallet(_) => command::dev_program::run(),
        Command::Doctor(doctor) => doctor::run(&doctor, cli.data_dir),
        Command::Lightning(lightning) => command::lightning::run(&lightning, cli.data_dir),
        Command::Listen(listen) => command::listen::run(&listen, cli.data_dir),
        Command::Oidc(oidc) => command::oidc::run(&oidc, cli.data_dir),
        Command::Payments(payments) => command::payments::run(&payments, cli.data_dir),
        Command::Backup(backup) => command::backup::run(&backup, cli.data_dir),
        Command::Restore(restore) => command::restore::run(&restore, cli.data_dir),
        Command::Store(store) => command::store::run(&store, cli.data_dir),
        Command::Tickets(tickets) => command::tickets::run(&tickets, cli.data_dir),
        Command::Keys(keys) => command::keys::run(&keys, cli.data_dir),
        Command::Console(console) => command::console::run(&console, cli.data_dir),
        Command::Audit(audit) => command::audit::run(&audit, cli.data_dir),
        Command::Notices(notices) => command::notices::run(&notices, cli.data_dir),
        Command::Users(users) => command::users::run(&users, cli.data_dir),
        Command::Key(key) => command::key::run(key, cli.data_dir),
        Command::Config(config) => command::config::run(&config, cli.data_dir),
        Command::Completions { shell } => command::completions_and_man::completions(shell),
        Command::Man { folder } => command::completions_and_man::man(folder.as_deref()),
    }
}
