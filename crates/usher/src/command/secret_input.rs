//! Reads passphrases and secret keys for commands.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use secrecy::SecretString;

use crate::config::text_file::{MAX_FILE_BYTES, read_file};
use crate::failure::Failure;

/// The name of standard input and output.
pub(super) const STANDARD: &str = "-";

/// The passphrase from a file or standard input, without trailing line breaks.
pub(super) fn passphrase(path: &Path) -> Result<SecretString, Failure> {
    let failed = |error| Failure::said(format!("cannot read the passphrase from {}: {error}", path.display()));
    let text = if path.as_os_str() == STANDARD {
        let mut text = String::new();
        std::io::stdin().lock().take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
        text
    } else {
        read_file(path).map_err(failed)?
    };
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure::said(format!("the passphrase in {} is empty", path.display()))),
        passphrase => Ok(SecretString::from(passphrase.to_owned())),
    }
}

/// Asks for the passphrase on the terminal, twice if it is new.
///
/// # Errors
/// [`Failure::Usage`] with `advice` if there is no terminal; otherwise if it is empty, or the repetition differs.
pub(super) fn ask_passphrase(is_new: bool, advice: &str) -> Result<SecretString, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(advice));
    }
    // Uses the terminal directly, without echo: standard output may be the backup.
    let ask = |prompt| rpassword::prompt_password(prompt).map(SecretString::from);
    let passphrase = ask("Passphrase: ")?;
    let text = secrecy::ExposeSecret::expose_secret(&passphrase);
    if text.is_empty() {
        return Err(Failure::said("the passphrase is empty"));
    }
    if is_new && secrecy::ExposeSecret::expose_secret(&ask("Again: ")?) != text {
        return Err(Failure::said("the two passphrases are not the same"));
    }
    Ok(passphrase)
}
