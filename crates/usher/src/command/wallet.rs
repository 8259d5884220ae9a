//! `usher wallet …`

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use usher_sandbox::cli::{self, Console, WalletArgs, WalletCommand};

use super::environment::source;
use crate::config::setting::LogFormat;
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::service::make_data_dir;
use crate::signals::Signals;

/// What is logged when `RUST_LOG` asks for nothing. The wallet's library logs errors when a relay cannot be reached, before
/// the wallet itself says so in one line.
const USUAL_LOG: &str = "warn,nostr_relay_pool=off";

/// Runs it until it is done or a signal comes.
///
/// # Errors
/// When the wallet cannot do it, or what was waited for did not come.
pub fn run(args: WalletArgs, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let data_dir = source(data_dir)?.data_dir;
    if args.wallet.is_none() && matches!(args.command, WalletCommand::New { .. }) {
        make_data_dir(&data_dir)?;
    }
    // Standard output is for the answer.
    logging::start(LogFormat::Text, Output::Stderr, USUAL_LOG)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let stop = CancellationToken::new();
        let file = data_dir.join("wallet.json");
        let mut work = std::pin::pin!(cli::run(args, &file, Console::terminal(), stop.clone()));
        tokio::select! {
            done = &mut work => Ok(done?),
            _ = signals.next() => {
                stop.cancel();
                tokio::select! {
                    done = work => Ok(done?),
                    signal = signals.next() => Err(Failure::said(format!("{signal}: aborted"))),
                }
            }
        }
    });
    // A read of standard input cannot be interrupted.
    runtime.shutdown_background();
    outcome
}
