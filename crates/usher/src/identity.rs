//! Who the service is on Nostr.

use usher_relays::Identity;

use crate::config::Config;
use crate::failure::Failure;

/// The service's identity on Nostr.
pub(crate) fn identity(config: &Config) -> Result<Identity, Failure> {
    let nostr = &config.nostr;
    let keys = nostr.private_key.keys().ok_or_else(|| Failure::said("nostr.private_key cannot be used"))?;
    Ok(match &nostr.subkey_proof {
        None => Identity::of_main_key(keys),
        Some(proof) => Identity { keys, main_key: proof.main_key, subkey_proof: Some(proof.clone()) },
    })
}
