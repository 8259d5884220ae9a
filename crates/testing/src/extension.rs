//! A browser extension that holds a Nostr key (NIP-07), of another implementation: npm `nostr-tools`.

use crate::{Browser, installed};

/// What the extension makes of the library. It appears a moment after the page, as real ones do, and keeps what it has signed
/// in `signed`.
const EXTENSION: &str = r"
const secretKey = NostrTools.utils.hexToBytes('SECRET');
window.signed = [];
setTimeout(() => {
  window.nostr = {
    getPublicKey: async () => NostrTools.getPublicKey(secretKey),
    signEvent: async (event) => {
      const signed = NostrTools.finalizeEvent({ ...event }, secretKey);
      window.signed.push(JSON.stringify(signed));
      return signed;
    },
  };
}, 100);
";

impl Browser {
    /// From the next page on, pages find an extension with this secret key (64 hex characters).
    pub async fn install_extension(&mut self, secret_key: &str) {
        self.run_on_every_page(&extension(secret_key)).await;
    }
}

pub(crate) fn extension(secret_key: &str) -> String {
    let library = installed("nostr-tools").join("node_modules/nostr-tools/lib/nostr.bundle.js");
    let library = std::fs::read_to_string(library).unwrap();
    // In a function: the names are not the page's.
    format!("(() => {{ {library}\n{} }})()", EXTENSION.replace("SECRET", secret_key))
}
