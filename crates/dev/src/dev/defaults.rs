//! The settings of `usher dev` for keys missing in the folder's configuration: all that an app on this machine needs to
//! try it.

use usher::config::Loaded;

/// Any port and path of this machine.
const LOOPBACK: &str = "http://localhost, http://127.0.0.1, http://[::1], https://localhost, https://127.0.0.1";

/// An app for OpenID Connect. In test mode, its redirect URI may be any address of this machine.
const OPENID_CLIENTS: &str = r#"[{"id": "demo", "secret": "demo-secret-that-everybody-may-know", "name": "Demo App",
    "redirect_uris": ["http://localhost"], "require_pkce": false}]"#;

/// The picture of a service without a configured name.
const PICTURE: &[u8] = include_bytes!("demo-shop.png");

/// These settings.
pub(super) struct Defaults {
    /// As environment variables.
    pub(super) variables: Vec<(String, String)>,
    pub(super) picture: Option<&'static [u8]>,
}

impl Defaults {
    /// The defaults for keys not in `given`. `None` as the port means that the pages are in a network.
    pub(super) fn beside(given: &Loaded, pages_port: Option<u64>) -> Self {
        let mut settings =
            vec![("pages.return_urls", LOOPBACK.to_owned()), ("oidc.clients", OPENID_CLIENTS.to_owned())];
        // Browsers allow passkeys at `localhost`, but not at 127.0.0.1.
        settings.extend(pages_port.map(|port| ("pages.public_url", format!("http://localhost:{port}"))));
        let has_name = ["name", "display_name", "picture"].iter().any(|key| given.is_set(&format!("profile.{key}")));
        settings.extend((!has_name).then(|| ("profile.display_name", "Demo Shop".to_owned())));
        settings.retain(|(key, _)| !given.is_set(key));
        let variable = |key: &str| format!("SERVICE__{}", key.to_uppercase().replace('.', "__"));
        Self {
            variables: settings.into_iter().map(|(key, value)| (variable(key), value)).collect(),
            picture: (!has_name).then_some(PICTURE),
        }
    }
}
