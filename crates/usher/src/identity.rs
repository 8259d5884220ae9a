//! Who the service is on Nostr.

use usher_relays::Identity;

use crate::config::Config;

/// The service's identity on Nostr.
pub(crate) fn identity(config: &Config) -> Identity {
    let nostr = &config.nostr;
    let keys = nostr.private_key.keys().clone();
    match &nostr.subkey_proof {
        None => Identity::of_main_key(keys),
        Some(proof) => Identity { keys, main_key: proof.main_key, subkey_proof: Some(proof.clone()) },
    }
}
