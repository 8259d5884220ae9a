//! `usher-dev`: the program behind `usher dev` and `usher wallet`.
//!
//! `usher` starts this program, which is next to it, so that the daemon links no development code. It also includes all
//! commands of `usher`, which it replaces in the container image for development.

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

/// The lines of standard input, until it is closed.
///
/// Reading blocks and cannot be interrupted, so it runs on a separate thread, which ends with the program.
fn standard_input() -> io::Result<mpsc::Receiver<String>> {
    let (to_lines, lines) = mpsc::channel(16);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin().lock().lines().map_while(Result::ok);
        input.all(|line| to_lines.blocking_send(line).is_ok());
    })?;
    Ok(lines)
}
