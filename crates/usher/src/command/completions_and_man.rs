//! `usher completions` and `usher man`: files that packages install, generated from the command line's definitions.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::write;
use crate::version::VERSION;

/// Prints the completion script of a shell.
///
/// # Errors
/// When it cannot be written.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "usher", &mut script);
    Ok(write(&String::from_utf8_lossy(&script))?)
}

/// Prints the manual page, or writes it and the pages of all subcommands into a folder.
///
/// # Errors
/// When they cannot be written.
pub fn man(folder: Option<&Path>) -> Result<(), Failure> {
    // Subcommands get their full names, and inherit the option for the data directory.
    let mut command = Cli::command().version(VERSION).disable_help_subcommand(true);
    command.build();
    let Some(folder) = folder else {
        return Ok(write(&String::from_utf8_lossy(&page(&command)?))?);
    };
    let failed = |error| Failure::said(format!("cannot write into {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    write_pages(&command, folder).map_err(failed)
}

fn write_pages(command: &Command, folder: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.into_iter().try_for_each(|command| write_pages(command, folder))
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone()).title(name).render(&mut page)?;
    Ok(page)
}
