//! `usher wallet …`

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use usher_sandbox::cli::{self, CliError, Console, WalletArgs, WalletCommand};

use super::environment::source;
use crate::config::setting::LogFormat;
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::service_lifecycle::make_data_dir;
use crate::signals::Signals;

/// What is logged when `RUST_LOG` asks for nothing.
const USUAL_LOG: &str = "warn";

/// Runs it until it is done or a signal comes.
///
/// # Errors
/// When the wallet cannot do it, or what was waited for did not come.
pub fn run(args: WalletArgs, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    // Without a home there is no data directory; one that is named needs none.
    let file = match &args.wallet {
        Some(file) => file.clone(),
        None => {
            let data_dir = source(data_dir)?.data_dir;
            if matches!(args.command, WalletCommand::New { .. }) {
                make_data_dir(&data_dir)?;
            }
            data_dir.join("wallet.json")
        }
    };
    // Standard output is for the answer.
    logging::start(LogFormat::Text, Output::Stderr, USUAL_LOG, None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let stop = CancellationToken::new();
        let mut work = std::pin::pin!(cli::run(args, &file, Console::terminal(), stop.clone()));
        tokio::select! {
            done = &mut work => done.map_err(failed),
            _ = signals.next() => {
                stop.cancel();
                tokio::select! {
                    done = work => done.map_err(failed),
                    signal = signals.next() => Err(Failure::said(format!("{signal}: aborted"))),
                }
            }
        }
    });
    // A read of standard input cannot be interrupted.
    runtime.shutdown_background();
    outcome
}

fn failed(error: CliError) -> Failure {
    if error.is_usage() { Failure::usage(error.to_string()) } else { error.into() }
}
