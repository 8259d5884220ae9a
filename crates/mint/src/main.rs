//! `usher-mint`: a Cashu mint on this machine, for trying Usher. `usher dev` starts it.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use usher_mint::{Mint, MintOptions};

/// A Cashu mint for trying things: it issues whatever is asked for, and nobody pays for it.
#[derive(Parser)]
#[command(name = "usher-mint", version)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Keeps everything in this folder; in memory without it.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// A unit of the mint; may be repeated.
    #[arg(long = "unit", value_name = "UNIT", default_values = ["sat", "multi"])]
    units: Vec<String>,
    /// The fee for each input of a swap, in thousandths of the unit.
    #[arg(long, default_value_t = 0, value_name = "PPK")]
    input_fee_ppk: u64,
    /// Clients must send this in the header `Clear-auth`.
    #[arg(long, env = "USHER_MINT_AUTH_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    auth_token: Option<String>,
    /// Clients must send the token only to mint: users can swap and check what they hold without it.
    #[arg(long)]
    auth_only_for_minting: bool,
    /// Ends when standard input is closed: with the program that started it, however that ends.
    #[arg(long)]
    until_stdin_closes: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut options =
        MintOptions::new().listen(arguments.listen).units(arguments.units).input_fee_ppk(arguments.input_fee_ppk);
    if let Some(folder) = arguments.data_dir {
        options = options.folder(folder);
    }
    if let Some(token) = arguments.auth_token {
        options = options.auth_token(token);
    }
    if arguments.auth_only_for_minting {
        options = options.auth_only_for_minting();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mint = Mint::start(options).await?;
        writeln!(std::io::stdout(), "listening on {}", mint.url())?;
        wait(arguments.until_stdin_closes).await?;
        mint.stop().await;
        Ok(())
    })
}

/// Returns at Ctrl-C, and when standard input is closed if that counts.
async fn wait(until_stdin_closes: bool) -> std::io::Result<()> {
    if !until_stdin_closes {
        return tokio::signal::ctrl_c().await;
    }
    let (closed, is_closed) = tokio::sync::oneshot::channel();
    // Reading blocks and cannot be interrupted; the thread ends with the program.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut ignored = [0; 1_024];
        while input.read(&mut ignored).is_ok_and(|count| count > 0) {}
        let _ = closed.send(());
    })?;
    // Ctrl-C in a terminal reaches both programs; the other one decides when this one ends.
    let ignored = async { while tokio::signal::ctrl_c().await.is_ok() {} };
    tokio::select! {
        _ = is_closed => Ok(()),
        () = ignored => Ok(()),
    }
}
