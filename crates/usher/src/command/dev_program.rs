//! `usher dev` and `usher wallet`: run the program `usher-dev` next to this one, so that the daemon does not link the
//! relay and the wallet.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::failure::Failure;

/// Replaces this process by that program, with the same arguments and environment.
///
/// # Errors
/// If it returns: the program is missing, or does not start.
pub fn run() -> Result<(), Failure> {
    let program = std::env::current_exe()?.with_file_name("usher-dev");
    if !program.exists() {
        return Err(Failure::said(format!(
            "`usher dev` and `usher wallet` are in the program usher-dev, and {} is missing. The Debian package and the \
             archives of a release have it. From source, scripts/dev builds and starts it, and `cargo build -p usher-dev` \
             builds it. For a container, use the image of compose.dev.yaml",
            program.display()
        )));
    }
    let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
    Err(Failure::said(format!("{} does not start: {error}", program.display())))
}
