//! `usher init`: creates everything that `usher serve` needs.
//!
//! A crash leaves a consistent state: key, token and other secrets are created first, and `config.toml`, which names
//! them, last. Existing files are never changed. So the command can be repeated at any time, and two concurrent runs
//! create one configuration.

mod questions;
mod secret_files;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use usher_engine::ports::OsRandomness;

use self::questions::Choices;
use self::secret_files::{SecretFile, SecretFiles};
pub use self::secret_files::{UNFINISHED, write_new};
use super::environment::{load_in_time, source};
use super::key::describe;
use crate::cli::{InitBackend, InitCommand};
use crate::config::reference::{self, Assignment};
use crate::config::setting::{LnBackend, quoted};
use crate::config::{Config, ConfigError, Loaded, Origin, Source, load_text, load_text_and_environment, report};
use crate::failure::Failure;
use crate::output::{shell_word, tell, write};
use crate::service_lifecycle::make_data_dir;
use crate::service_options::pages_url;

const INTRODUCTION: &str = "\
# Configuration of Usher, made by `usher init`. It lists all keys; a line with a `#` shows the default, or an example if
# there is no default. Uncomment the settings you change. The environment variable below a key overrides this file.
# Relative paths start at the folder of this file. `usher config check` shows the settings in force and all errors.
";

const SEED: &str = "
Keep a copy of the seed of the Lightning node offline, too. It restores money on the chain, but no channels.
";

/// Creates a data directory with key, token and configuration; keeps existing files.
///
/// # Errors
/// [`Failure::Configuration`] for invalid settings, or errors in an existing configuration; otherwise if files cannot
/// be read or created.
pub fn run(options: &InitCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let named = data_dir.is_some();
    let source = source(data_dir)?;
    let mut said = format!("Data directory: {}\n", source.data_dir.display());
    // A link counts, too: the operator manages its target.
    let source = if source.file().symlink_metadata().is_ok() {
        refuse_broken_link(&source.file())?;
        refuse_changes(&Choices::of_options(options)?, &source)?;
        drop(secret_files::begin(&source.data_dir)?);
        said.push_str("  config.toml  is there and stays as it is: edit it to change settings\n");
        source
    } else {
        refuse_lost_key(&source.data_dir)?;
        let choices = questions::complete(Choices::of_options(options)?, options.non_interactive)?;
        refuse_lost_seed(&source.data_dir, &choices)?;
        let files = SecretFiles::of(&choices, &OsRandomness);
        let text = reference::with_settings(INTRODUCTION, &assignments(&choices, &files));
        let inline = inline(&choices, &files);
        check(&load_text(&inline, &source))?;
        check(&load_text_and_environment(&inline, &source))?;
        make_data_dir(&source.data_dir)?;
        let writing = secret_files::begin(&source.data_dir)?;
        said.push_str(&make(&source, &files, &text)?);
        drop(writing);
        source
    };
    let (loaded, source) = load_in_time(source)?;
    let Some(config) = &loaded.config else {
        write(&said)?;
        return Err(Failure::Configuration(report::problems(&loaded)));
    };
    said.push_str(&overridden(&loaded));
    said.push_str(&next_steps(config, named.then_some(&source.data_dir)));
    if config.wallet.ln_backend == LnBackend::Embedded {
        said.push_str(SEED);
    }
    write(&said)?;
    for line in report::problems(&loaded) {
        tell(&format!("usher: {line}"));
    }
    Ok(())
}

/// Creates all files; returns a line for each.
fn make(source: &Source, files: &SecretFiles, configuration: &str) -> Result<String, Failure> {
    let mut said = String::new();
    for file in files.iter() {
        let state = if secret_files::make(&source.data_dir, file)? { "made" } else { "was there, kept" };
        said.push_str(&format!("  {:<18} {state}: {}\n", file.name, file.meaning));
    }
    let made = secret_files::write_new(&source.data_dir, "config.toml", configuration)?;
    secret_files::sync_folder(&source.data_dir)?;
    let state = if made { "made" } else { "was there, kept" };
    said.push_str(&format!("  {:<18} {state}: every setting, with comments\n", "config.toml"));
    Ok(said)
}

/// The settings of the new file.
fn assignments(choices: &Choices, files: &SecretFiles) -> Vec<Assignment> {
    let in_file = |file: &SecretFile| Assignment { key: file.key, is_file: true, value: quoted(file.name) };
    choices.assignments().into_iter().chain(files.iter().map(in_file)).collect()
}

/// The same settings with the secrets themselves, for validation in memory before anything is created.
fn inline(choices: &Choices, files: &SecretFiles) -> String {
    let secret = |file: &SecretFile| Assignment { key: file.key, is_file: false, value: quoted(file.secret()) };
    let all: Vec<_> = choices.assignments().into_iter().chain(files.iter().map(secret)).collect();
    reference::with_settings("", &all)
}

/// Refuses invalid settings; the errors name the keys, and the environment if they are set there.
fn check(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.config.is_some() {
        return Ok(());
    }
    let line = |error: &ConfigError| match error.origin {
        // The file does not exist yet.
        Some(Origin::Line(..)) => format!("error: {}", error.what),
        _ => format!("error: {error}"),
    };
    Err(Failure::Configuration(loaded.errors.iter().map(line).collect()))
}

/// A broken link would be written through, or hide that there is no configuration.
fn refuse_broken_link(file: &Path) -> Result<(), Failure> {
    match file.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::said(format!(
            "{} is a link to a file that does not exist; nothing was made: make that file or remove the link",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// The secrets that are overridden by the environment.
fn overridden(loaded: &Loaded) -> String {
    let of_environment = loaded.in_force.iter().filter(|entry| entry.key.secret).filter_map(|entry| {
        let variable = match &entry.origin {
            Origin::SecretFile(_, named_by) => named_by,
            origin => origin,
        };
        let Origin::Variable(variable) = variable else { return None };
        Some(format!(
            "  {variable} is set: {} comes from there, not from a file in the data directory\n",
            entry.key.name
        ))
    });
    of_environment.collect()
}

/// Refuses options that differ from an existing configuration, which would otherwise be ignored.
fn refuse_changes(asked: &Choices, source: &Source) -> Result<(), Failure> {
    let names = asked.keys();
    if names.is_empty() {
        return Ok(());
    }
    let files = SecretFiles::of(asked, &OsRandomness);
    let wanted = load_text(&inline(asked, &files), source);
    check(&wanted)?;
    let file = Source { data_dir: source.data_dir.clone(), variables: Vec::new(), now: source.now };
    let (there, _) = load_in_time(file)?;
    let other: Vec<_> = wanted.changed_since(&there).into_iter().filter(|name| names.contains(name)).collect();
    if other.is_empty() {
        return Ok(());
    }
    let file = source.file();
    Err(Failure::said(format!(
        "{} is there and has other values for {}; nothing was changed: edit the file",
        file.display(),
        other.join(", ")
    )))
}

/// A new key would make it a different service, which no user knows.
fn refuse_lost_key(data_dir: &Path) -> Result<(), Failure> {
    if data_dir.join("usher.db").exists() && !data_dir.join(SecretFiles::PRIVATE_KEY).exists() {
        return Err(Failure::said(format!(
            "{} has the database of a service, but neither config.toml nor {key}; with a new key users would not know the \
             service any more. Put its private key into {key}, then run `usher init` again",
            data_dir.display(),
            key = SecretFiles::PRIVATE_KEY,
        )));
    }
    Ok(())
}

/// A new seed would make it a different Lightning node, which cannot access the old one's money.
fn refuse_lost_seed(data_dir: &Path, choices: &Choices) -> Result<(), Failure> {
    let is_lost = data_dir.join("lightning").exists() && !data_dir.join(SecretFiles::SEED).exists();
    if choices.backend == Some(InitBackend::Embedded) && is_lost {
        return Err(Failure::said(format!(
            "{} has the data of a Lightning node, but not its seed, without which its money cannot be reached. Put the \
             words into {}, then run `usher init` again",
            data_dir.display(),
            SecretFiles::SEED,
        )));
    }
    Ok(())
}

fn next_steps(config: &Config, data_dir: Option<&PathBuf>) -> String {
    let usher = data_dir.map_or_else(|| "usher".to_owned(), |path| format!("usher --data-dir {}", shell_word(path)));
    let port =
        config.pages.listen_port.map_or(config.info.port(), |port| u16::try_from(port.get()).unwrap_or_default());
    let pages = pages_url(config, SocketAddr::new(config.info.listen_address, port));
    let console = match config.console.enabled {
        true => format!(
            "  {usher} console invite YOUR_NAME --role admin    # while it serves: prints your link to {pages}/console\n"
        ),
        false => String::new(),
    };
    format!(
        "\nUsers' wallets know the service by this public key. Keep a copy of its private key in a safe place:\n  {}\n\n\
         Next:\n  {usher} doctor    # checks everything the service depends on\n  {usher} serve\n{console}",
        describe(&config.nostr.private_key.public())
    )
}
