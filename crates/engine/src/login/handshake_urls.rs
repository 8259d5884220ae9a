use std::sync::Arc;

use usher_protocol::PublicKey;
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::keys::npub;

use crate::ports::Messenger;

/// Room for a URL with two relays.
const URL_BYTES: usize = 256;

pub(crate) struct HandshakeUrls {
    pub(crate) messenger: Arc<dyn Messenger>,
    scheme: String,
    other_schemes: Vec<String>,
    main_key: PublicKey,
    subkey: Option<PublicKey>,
    /// Of the two keys.
    npubs: (String, Option<String>),
}

impl HandshakeUrls {
    /// For a service with these keys. The other schemes are for links and codes on pages.
    pub(crate) fn new(
        messenger: Arc<dyn Messenger>,
        scheme: String,
        other_schemes: Vec<String>,
        main_key: PublicKey,
        subkey: Option<PublicKey>,
    ) -> Self {
        let npubs = (npub(&main_key), subkey.as_ref().map(npub));
        Self { messenger, scheme, other_schemes, main_key, subkey, npubs }
    }

    /// The URL of a token. `no_request` tells wallets that no authentication challenge follows.
    pub(crate) fn url(&self, token: &str, no_request: bool) -> String {
        self.with_scheme(&self.scheme, token, no_request)
    }

    /// The same with the other schemes.
    pub(crate) fn others(&self, token: &str, no_request: bool) -> Vec<String> {
        self.other_schemes.iter().map(|scheme| self.with_scheme(scheme, token, no_request)).collect()
    }

    fn with_scheme(&self, scheme: &str, token: &str, no_request: bool) -> String {
        let url = HandshakeUrl {
            scheme: scheme.to_owned(),
            main_key: self.main_key,
            relays: self.messenger.relays(),
            token: token.to_owned(),
            subkey: self.subkey,
            no_request,
        };
        let mut text = String::with_capacity(URL_BYTES);
        // Writing to a text does not fail.
        let _ = url.write(&mut text, &self.npubs.0, self.npubs.1.as_deref());
        text
    }
}
