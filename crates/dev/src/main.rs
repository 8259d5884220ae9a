//! `usher-dev`: the program behind `usher dev` and `usher wallet`.
//!
//! `usher` starts this program, which is next to it, so that the daemon links no development code. It also includes all
//! commands of `usher`, which it replaces in the container image for development.

mod dev;
mod standard_input;
mod wallet;

use std::process::ExitCode;

use usher::cli::{Cli, Command};

fn main() -> ExitCode {
    usher::run(|Cli { data_dir, command }| match command {
        Command::Dev(options) => dev::run(&options, data_dir),
        Command::Wallet(arguments) => wallet::run(arguments, data_dir),
        command => usher::execute(Cli { data_dir, command }),
    })
}
