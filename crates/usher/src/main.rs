//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    usher::run(usher::execute)
}
