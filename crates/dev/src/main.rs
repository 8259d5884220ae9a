//! `usher-dev`: what `usher dev` and `usher wallet` run.
//!
//! `usher` starts this program, which is beside it, so that the daemon links nothing that is only for development. It can do
//! everything that `usher` can: the container image for development has it in the place of `usher`.

mod dev;
mod wallet;

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use tokio::sync::mpsc;
use usher::cli::{Cli, Command};

fn main() -> ExitCode {
    usher::run(|Cli { data_dir, command }| match command {
        Command::Dev(options) => dev::run(&options, data_dir),
        Command::Wallet(arguments) => wallet::run(arguments, data_dir),
        command => usher::execute(Cli { data_dir, command }),
    })
}

/// The lines of standard input; none come any more when it is closed.
///
/// Reading blocks and cannot be interrupted, so it is done by a thread of its own, which ends with the program.
fn standard_input() -> io::Result<mpsc::Receiver<String>> {
    let (to_lines, lines) = mpsc::channel(16);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin().lock().lines().map_while(Result::ok);
        input.all(|line| to_lines.blocking_send(line).is_ok());
    })?;
    Ok(lines)
}
