use std::sync::Arc;

use usher_protocol::PublicKey;
use usher_protocol::handshake_url::HandshakeUrl;

use crate::ports::Messenger;

pub(crate) struct HandshakeUrls {
    pub(crate) messenger: Arc<dyn Messenger>,
    pub(crate) scheme: String,
    /// Additional schemes for links and codes on pages.
    pub(crate) other_schemes: Vec<String>,
    pub(crate) main_key: PublicKey,
    pub(crate) subkey: Option<PublicKey>,
}

impl HandshakeUrls {
    /// The URL of a token. `no_request` tells wallets that no authentication challenge follows.
    pub(crate) fn url(&self, token: &str, no_request: bool) -> String {
        self.with_scheme(&self.scheme, token, no_request)
    }

    /// The same with the other schemes.
    pub(crate) fn others(&self, token: &str, no_request: bool) -> Vec<String> {
        self.other_schemes.iter().map(|scheme| self.with_scheme(scheme, token, no_request)).collect()
    }

    fn with_scheme(&self, scheme: &str, token: &str, no_request: bool) -> String {
        HandshakeUrl {
            scheme: scheme.to_owned(),
            main_key: self.main_key,
            relays: self.messenger.relays(),
            token: token.to_owned(),
            subkey: self.subkey,
            no_request,
        }
        .to_string()
    }
}
