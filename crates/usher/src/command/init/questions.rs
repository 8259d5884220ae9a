//! The operator's choices, from options or from answers on a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use secrecy::{ExposeSecret as _, SecretString};

use crate::cli::{InitBackend, InitCommand};
use crate::config::keys;
use crate::config::reference::Assignment;
use crate::config::setting::{
    LnBackend, NodeAddress, NwcUrl, Port, RawValue, Relays, ReturnUrls, Secret, Setting, WebUrl, WebhookUrl, quoted,
};
use crate::config::text_file::read_file;
use crate::failure::Failure;

/// The choices; `None` for what was not given.
#[derive(Default)]
pub(super) struct Choices {
    /// The service's relays.
    pub(super) relays: Option<Vec<String>>,
    /// The Lightning backend.
    pub(super) backend: Option<InitBackend>,
    /// The connection URL of that wallet.
    pub(super) nwc_url: Option<SecretString>,
    /// The chain source of the embedded node.
    pub(super) chain_url: Option<String>,
    pub(super) liquidity_provider: Option<String>,
    /// The operator's API key at the liquidity provider, or at the server of `chain_url`.
    pub(super) lightning_api_key: Option<SecretString>,
    /// The public URL of the service's pages.
    pub(super) public_url: Option<String>,
    /// Allowed targets of redirects from pages.
    pub(super) return_urls: Option<Vec<String>>,
    pub(super) pages_port: Option<u16>,
    /// Where events are posted.
    pub(super) webhook_url: Option<SecretString>,
}

impl Choices {
    /// The choices in the options.
    pub(super) fn of_options(options: &InitCommand) -> Result<Self, Failure> {
        let read = |path: &std::path::PathBuf| {
            let text = read_file(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            Ok::<_, Failure>(SecretString::from(text.trim_end_matches(['\r', '\n'])))
        };
        let nwc_url = options.nwc_url_file.as_ref().map(read).transpose()?;
        let lightning_api_key = options.lightning_api_key_file.as_ref().map(read).transpose()?;
        let of_node =
            options.chain_url.is_some() || options.liquidity_provider.is_some() || lightning_api_key.is_some();
        let nwc = nwc_url.as_ref().map(|_| InitBackend::Nwc);
        Ok(Self {
            relays: (!options.relay.is_empty()).then(|| options.relay.clone()),
            backend: options.ln_backend.or(nwc).or(of_node.then_some(InitBackend::Embedded)),
            nwc_url,
            chain_url: options.chain_url.clone(),
            liquidity_provider: options.liquidity_provider.clone(),
            lightning_api_key,
            public_url: options.public_url.clone(),
            return_urls: (!options.return_url.is_empty()).then(|| options.return_url.clone()),
            pages_port: options.pages_port,
            webhook_url: options.webhook_url.clone().map(SecretString::from),
        })
    }

    /// The configuration keys that were chosen.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        let chosen = [
            ("nostr.relays", self.relays.is_some()),
            ("wallet.ln_backend", self.backend.is_some()),
            ("wallet.nwc.url", self.nwc_url.is_some()),
            ("wallet.embedded.chain_url", self.chain_url.is_some()),
            ("wallet.embedded.liquidity_provider", self.liquidity_provider.is_some()),
            ("wallet.embedded.api_key", self.lightning_api_key.is_some()),
            ("pages.public_url", self.public_url.is_some()),
            ("pages.return_urls", self.return_urls.is_some()),
            ("pages.listen_port", self.pages_port.is_some()),
            ("webhook.url", self.webhook_url.is_some()),
        ];
        chosen.into_iter().filter(|(_, chosen)| *chosen).map(|(key, _)| key).collect()
    }

    /// The settings that are not secrets.
    pub(super) fn assignments(&self) -> Vec<Assignment> {
        let plain = |key, value| Assignment { key, is_file: false, value };
        let mut settings = Vec::new();
        let lists = [("nostr.relays", &self.relays), ("pages.return_urls", &self.return_urls)];
        for (key, list) in lists {
            settings.extend(list.clone().map(|list| plain(key, toml::Value::from(list).to_string())));
        }
        if let Some(backend) = self.backend {
            settings.push(plain("wallet.ln_backend", quoted(backend.as_str())));
        }
        if self.backend == Some(InitBackend::Embedded) && self.lightning_api_key.is_none() {
            // Not a secret: an empty value.
            settings.push(plain("wallet.embedded.api_key", quoted("none")));
        }
        let texts = [
            ("wallet.embedded.chain_url", &self.chain_url),
            ("wallet.embedded.liquidity_provider", &self.liquidity_provider),
            ("pages.public_url", &self.public_url),
        ];
        settings.extend(texts.into_iter().filter_map(|(key, text)| Some(plain(key, quoted(text.as_ref()?)))));
        if let Some(port) = self.pages_port {
            settings.push(plain("pages.listen_port", port.to_string()));
        }
        settings
    }
}

/// Asks for missing choices on a terminal.
pub(super) fn complete(mut choices: Choices, non_interactive: bool) -> Result<Choices, Failure> {
    if non_interactive || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(choices);
    }
    if choices.relays.is_none() {
        let default = default_relays();
        let shown = format!("Relays, separated by commas [{default}]: ");
        let answer = ask::<Relays>(&shown)?.unwrap_or(default);
        choices.relays = Some(parts(&answer));
    }
    let mut is_open = choices.backend.is_none();
    loop {
        if is_open {
            let question = "Lightning backend: none, nwc (a wallet with Nostr Wallet Connect), or embedded (a node inside \
                            Usher) [none]: ";
            let answer = ask::<LnBackend>(question)?;
            choices.backend = answer.and_then(|word| InitBackend::parse(&word));
        }
        if ask_of_backend(&mut choices)? {
            break;
        }
        is_open = true;
    }
    if choices.public_url.is_none() {
        let question = "Public URL for pages in users' browsers, https://… [none: only browsers on this machine]: ";
        choices.public_url = ask::<WebUrl>(question)?;
    }
    if choices.return_urls.is_none() && choices.public_url.is_some() {
        let question = "Address of your app, to which these pages lead back, https://… [none: they lead nowhere]: ";
        choices.return_urls = ask::<ReturnUrls>(question)?.map(|answer| parts(&answer));
    }
    if choices.pages_port.is_none() && choices.public_url.is_some() {
        let question = "Port for these pages alone, to which a proxy can pass everything [none: the port of the API]: ";
        choices.pages_port = ask::<Port>(question)?.and_then(|port| port.parse().ok());
    }
    if choices.webhook_url.is_none() {
        let question = "Webhook of your app, to which events are posted [none: your app reads events]: ";
        choices.webhook_url = ask::<WebhookUrl>(question)?.map(SecretString::from);
    }
    Ok(choices)
}

/// Asks for the backend's settings; `false` if the operator returns to the choice of the backend.
fn ask_of_backend(choices: &mut Choices) -> Result<bool, Failure> {
    match choices.backend {
        Some(InitBackend::Nwc) if choices.nwc_url.is_none() => {
            let question = "Connection URL from the wallet, nostr+walletconnect://… [back to the backend]: ";
            choices.nwc_url = ask::<NwcUrl>(question)?.map(SecretString::from);
            Ok(choices.nwc_url.is_some())
        }
        Some(InitBackend::Embedded) => ask_of_node(choices),
        _ => Ok(true),
    }
}

fn ask_of_node(choices: &mut Choices) -> Result<bool, Failure> {
    if choices.chain_url.is_none() {
        let question = "URL of an Esplora server, where the node learns of blocks [back to the backend]: ";
        choices.chain_url = ask::<WebUrl>(question)?;
        if choices.chain_url.is_none() {
            return Ok(false);
        }
    }
    if choices.liquidity_provider.is_none() {
        let question = "Liquidity provider, which opens channels, <node id>@<host>:<port> [none]: ";
        choices.liquidity_provider = ask::<NodeAddress>(question)?;
    }
    if choices.lightning_api_key.is_none() {
        let question = "Token that the provider or the server wants [none]: ";
        choices.lightning_api_key = ask::<Secret>(question)?.map(SecretString::from);
    }
    Ok(true)
}

/// The default of `nostr.relays`, separated by commas.
fn default_relays() -> String {
    let default = keys::find("nostr.relays").and_then(|key| key.default).unwrap_or_default();
    default.replace(['[', ']', '"', ' '], "")
}

fn parts(list: &str) -> Vec<String> {
    list.split(',').map(|part| part.trim().to_owned()).collect()
}

/// Asks until the answer is a `T`; `None` for an empty one.
fn ask<T: Setting>(question: &str) -> Result<Option<String>, Failure> {
    loop {
        let answer = line(question)?;
        let answer = answer.expose_secret().trim();
        if answer.is_empty() {
            return Ok(None);
        }
        match T::read(&RawValue::Text(answer.to_owned())) {
            Ok(_) => return Ok(Some(answer.to_owned())),
            Err(problem) => crate::output::tell(&format!("  It {problem}.")),
        }
    }
}

fn line(question: &str) -> Result<SecretString, Failure> {
    let mut errors = std::io::stderr().lock();
    errors.write_all(question.as_bytes())?;
    errors.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(Failure::said("no answer; nothing was made"));
    }
    Ok(line.into())
}
