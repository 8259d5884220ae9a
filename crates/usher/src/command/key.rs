//! `usher key …`

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use nostr::nips::nip19::{FromBech32 as _, Nip19, ToBech32 as _};
use usher_engine::ports::{OsRandomness, Randomness};
use usher_protocol::keys::parse_public_key;
use usher_protocol::{Keys, PublicKey, SecretKey};

use super::environment::{config_of, source};
use crate::cli::KeyCommand;
use crate::config::load;
use crate::failure::Failure;
use crate::output::{tell, write};

/// Runs it.
///
/// # Errors
/// If the input is not a key, or for `show` if the configuration has errors.
pub fn run(command: KeyCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    match command {
        KeyCommand::Generate => {
            let key = generate(&OsRandomness);
            write(&format!("{}\n", key.to_secret_hex()))?;
            tell(&format!("# public key: {}", describe(&Keys::new(key).public_key())));
        }
        KeyCommand::FromNsec { nsec } => {
            let failed = if nsec.is_some() { Failure::usage } else { Failure::said };
            write(&format!("{}\n", from_nsec(&nsec_given(nsec)?).map_err(failed)?))?;
        }
        KeyCommand::ToHex { key } => write(&format!("{}\n", to_hex(&key)?))?,
        KeyCommand::Show => show(data_dir)?,
    }
    Ok(())
}

/// A new private key.
pub fn generate(randomness: &dyn Randomness) -> SecretKey {
    loop {
        let mut bytes = [0; 32];
        randomness.fill(&mut bytes);
        // Fails with a probability of 2^-128.
        if let Ok(key) = SecretKey::from_slice(&bytes) {
            return key;
        }
    }
}

fn nsec_given(argument: Option<String>) -> Result<String, Failure> {
    if let Some(nsec) = argument.filter(|nsec| nsec != "-") {
        tell("usher: warning: the nsec is now in your shell's history; better: usher key from-nsec < file");
        return Ok(nsec);
    }
    let mut input = std::io::stdin();
    if input.is_terminal() {
        tell("Paste the nsec, then press Enter:");
        let mut line = String::new();
        input.read_line(&mut line)?;
        return Ok(line);
    }
    // An nsec has 63 characters; a much longer input is not one.
    let mut text = String::new();
    input.by_ref().take(1024).read_to_string(&mut text)?;
    Ok(text)
}

/// Errors do not contain the input.
fn from_nsec(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let text = text.strip_prefix("nostr:").unwrap_or(text);
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("not an nsec: it is already 64 hex characters, the form of nostr.private_key");
    }
    let key = SecretKey::from_bech32(text).map_err(|_| "invalid nsec; check for typos")?;
    Ok(key.to_secret_hex())
}

fn to_hex(text: &str) -> Result<String, Failure> {
    let mut text = text.trim().to_owned();
    // Bech32 may be all upper case, as in QR codes, but not mixed.
    if !text.contains(|letter: char| letter.is_ascii_lowercase()) {
        text.make_ascii_lowercase();
    }
    let text = text.strip_prefix("nostr:").unwrap_or(&text);
    if text.to_ascii_lowercase().starts_with("nsec") {
        return Err(Failure::usage("this is a private key; convert it with `usher key from-nsec`"));
    }
    let key = match Nip19::from_bech32(text) {
        Ok(Nip19::Pubkey(key)) => key,
        Ok(Nip19::Profile(profile)) => profile.public_key,
        Ok(_) => return Err(Failure::usage("not a public key; use an npub or nprofile")),
        Err(_) => parse_public_key(text)
            .map_err(|_| Failure::usage("not a public key; use an npub, nprofile, nostr: URI or 64 hex characters"))?,
    };
    Ok(key.to_hex())
}

fn show(data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let loaded = load(&source(data_dir)?);
    let config = config_of(&loaded)?;
    let key = config.nostr.private_key.public();
    match &config.nostr.subkey_proof {
        None => write(&format!("public key: {}\n", describe(&key)))?,
        Some(proof) => write(&format!("main key: {}\nsubkey: {}\n", describe(&proof.main_key), describe(&key)))?,
    }
    Ok(())
}

/// A public key in both forms.
pub(super) fn describe(key: &PublicKey) -> String {
    // Encoding 32 bytes cannot fail.
    key.to_bech32().map_or_else(|_| key.to_hex(), |npub| format!("{} ({npub})", key.to_hex()))
}
