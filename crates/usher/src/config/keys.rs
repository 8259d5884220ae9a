//! The table of keys: the one place that knows which there are.

use std::net::IpAddr;

use super::setting::{
    ApiToken, DatabaseUrl, Hours, LnBackend, LogFilter, LogFormat, Mnemonic, Nip05, NwcUrl, PrivateKey, ProfileName,
    Relays, Scheme, Secret, Text, Unit, VerificationProvider, WebUrl, WebhookSecret, WebhookUrl, Whole,
};
use super::table::{Key, configuration};
use usher_protocol::bolt11::Network;
use usher_protocol::subkey::SubkeyProof;

configuration! {
    /// Where the service listens.
    ["info"] info: Info {
        /// The address to listen on. `127.0.0.1` takes calls from this machine only, `0.0.0.0` from everywhere.
        /// The service speaks plain HTTP: put a TLS proxy before it when calls come over a network.
        listen_address: IpAddr = "\"127.0.0.1\"";
        /// The port to listen on. 0 takes any free one, which the log names.
        listen_port: Whole<0, 65535> = "3000";
    }

    /// Who may call.
    ["auth"] auth: Auth {
        /// The bearer token that every call carries. Make one with `openssl rand -hex 32`.
        auth_token: ApiToken;
        /// While the token is changed: the one before, which is accepted as well. See docs/operations.md.
        previous_token: Option<ApiToken>;
        /// How long a user may take to answer an authentication challenge, in seconds.
        challenge_ttl_seconds: Whole<1, 86400> = "300";
    }

    /// The service on Nostr.
    ["nostr"] nostr: Nostr {
        /// The service's private key. Make one with `usher key generate`; convert an `nsec…` with
        /// `usher key from-nsec`. Users' wallets know the service by this key: keep a copy in a safe place.
        private_key: PrivateKey;
        /// The relays over which the service and its users' wallets meet: two at least, of different operators, since a
        /// wallet sends once, and what it sends while one connection is renewed still comes by the other. Best are those
        /// that the wallets of your users use by themselves.
        relays: Relays = "[\"wss://relay.damus.io\", \"wss://nos.lol\", \"wss://relay.primal.net\"]";
        /// When `private_key` is a subkey: the JSON text of the proof that it belongs to a main key. Users then know
        /// the service by the main key.
        subkey_proof: Option<SubkeyProof>;
        /// The scheme of handshake URLs. `portal` suits wallets that only open that one.
        url_scheme: Scheme = "\"nostr+walletconnect\"";
        /// Whether relay addresses that *users* supply may lead to private, loopback or link-local addresses.
        /// Leave it off but for development: it lets strangers make this machine connect to its own network.
        allow_private_relays: bool = "false";
    }

    /// Where data is kept.
    ["database"] database: Database {
        /// The SQLite file. A relative path is taken under the data directory.
        path: Text = "\"usher.db\"";
        /// Address of a PostgreSQL database. This version stores in SQLite only and refuses to start with it.
        url: Option<DatabaseUrl>;
    }

    /// The Lightning wallet that makes and pays invoices.
    ["wallet"] wallet: Wallet {
        /// Which wallet: `none`, or `nwc` for any wallet by Nostr Wallet Connect. Without one, calls that need it are
        /// answered 503.
        ln_backend: LnBackend = "\"none\"";
        /// The Bitcoin network that invoices must be for. Only on `bitcoin` is anything money.
        network: Network = "\"bitcoin\"";
        /// How many open invoices are looked up a second, all together. Each is looked up after 5, 10, 20 and 40 seconds and
        /// then less and less often. One whose payer says that it has paid, or that expires, is looked up at once, beside these.
        lookups_per_second: Whole<1, 1000> = "10";
    }

    /// For `wallet.ln_backend = "nwc"`.
    ["wallet.nwc"] nwc: Nwc {
        /// The connection address that the wallet gives out. Whoever has it can spend: give the connection a budget.
        url: Option<NwcUrl>;
    }

    /// A wallet within this program, which this version does not have yet.
    ["wallet.embedded"] embedded: Embedded {
        /// The API key of the liquidity provider.
        api_key: Option<Secret>, later;
        /// The wallet's seed: a BIP-39 mnemonic in English. Whoever has it has the money.
        mnemonic: Option<Mnemonic>, later;
    }

    /// Events by HTTP POST, beside polling.
    ["webhook"] webhook: Webhook {
        /// Where events are sent. Treated as a secret, since such addresses often carry one.
        url: Option<WebhookUrl>;
        /// Signs every delivery. A `whsec_…` of Standard Webhooks, or any text.
        secret: Option<WebhookSecret>;
        /// While the secret is changed: the one before. Deliveries are signed with both in `webhook-signature`.
        previous_secret: Option<WebhookSecret>;
    }

    /// The service's own Nostr profile, published at start when any of it is set.
    ["profile"] profile: Profile {
        /// User name, without spaces.
        name: Option<ProfileName>;
        /// Name as shown, may contain spaces.
        display_name: Option<Text>;
        /// Address of a picture.
        picture: Option<WebUrl>;
        /// NIP-05 identifier.
        nip05: Option<Nip05>;
    }

    /// Key handshakes.
    ["handshake"] handshake: Handshake {
        /// How long a single-use handshake URL can be used, in seconds.
        ttl_seconds: Whole<1, 604800> = "600";
    }

    /// Event streams.
    ["streams"] streams: Streams {
        /// How many days the events of a finished operation stay readable, and each event of a stream that does not end.
        retention_days: Whole<1, 36500> = "30";
    }

    /// Subscriptions whose payments the service asks for by itself.
    ["subscriptions"] subscriptions: Subscriptions {
        /// After how many hours a failed automatic charge is tried again: the first number counts from the first failure,
        /// each further one from the failure before it. Empty: not tried again.
        retry_hours: Hours = "[24, 72]";
    }

    /// Cashu tokens.
    ["cashu"] cashu: Cashu {
        /// How long a token sent to a user is sent again until it is redeemed, in hours.
        send_ttl_hours: Whole<1, 8760> = "168", later;
    }

    /// What protects the service from too much.
    ["limits"] limits: Limits {
        /// How many operations may be open at a time; a start call beyond is answered 503.
        max_open_streams: Whole<1, 1000000000> = "1000000";
        /// How many calls a second are taken; those beyond are answered 429. 0: any number.
        requests_per_second: Whole<0, 1000000> = "0";
        /// How many connections may be open at a time. One more closes the oldest that has not sent the token; when all
        /// have, it is answered 503.
        max_connections: Whole<1, 1000000> = "20000";
        /// How many of them may be open that have not sent the token; never more than half of `max_connections`, so that
        /// the rest is for your app. One more closes the oldest of them.
        max_unauthenticated_connections: Whole<1, 1000000> = "5000";
        /// How many of these may come from one address (of IPv6: one network of 64 bits); one more closes the oldest from
        /// there. Loopback is exempt: behind a proxy on this machine everybody has that address.
        max_unauthenticated_per_address: Whole<1, 1000000> = "1000";
        /// How many calls may wait for events (`wait=`) at a time; one more is answered 503.
        max_long_polls: Whole<1, 1000000> = "10000";
        /// How many event streams (server-sent events) may be open at a time; one more is answered 503.
        max_event_streams: Whole<1, 1000000> = "10000";
        /// How many WebSockets (`/ws`) may be open at a time; one more is answered 503.
        max_websockets: Whole<1, 1000000> = "10000";
        /// The largest payment, in millisats. The default is one bitcoin.
        max_amount_millisats: Whole<1, 2100000000000000000> = "100000000000";
    }

    /// Age verification.
    ["verification"] verification: Verification {
        /// Who decides: `manual` (your own staff), `oidc` or `remote`.
        provider: VerificationProvider = "\"manual\"", later;
        /// The Cashu mint that issues the proofs.
        mint_url: Option<WebUrl>, later;
        /// The unit of the proofs.
        unit: Unit = "\"multi\"", later;
        /// The amount of a proof, in its unit.
        amount: Whole<1, 1000000000> = "1", later;
        /// How long a user may take, in seconds.
        session_ttl_seconds: Whole<60, 86400> = "900", later;
        /// The age that must be reached, in years.
        minimum_age: Whole<1, 150> = "18", later;
        /// How a user's browser reaches this service.
        public_url: Option<WebUrl>, later;
    }

    /// Logging, to standard output.
    ["log"] log: Log {
        /// What is logged: `error`, `warn`, `info` (the default), `debug` or `trace`, or a list of levels by part of the
        /// program, such as `warn,usher_relays=debug`. The environment variable `RUST_LOG` overrides it. SIGHUP re-reads it.
        level: Option<LogFilter>;
        /// `text` for people, `json` for machines (one object per line).
        format: LogFormat = "\"text\"";
    }
}

impl Info {
    /// How the service can be reached from this machine; `None` when it takes any free port.
    pub fn base_url(&self) -> Option<String> {
        let host = match (self.listen_address.is_unspecified(), self.listen_address) {
            (true, IpAddr::V4(_)) => "127.0.0.1".to_owned(),
            (true, IpAddr::V6(_)) => "[::1]".to_owned(),
            (false, IpAddr::V4(ip)) => ip.to_string(),
            (false, IpAddr::V6(ip)) => format!("[{ip}]"),
        };
        (self.port() != 0).then(|| format!("http://{host}:{}", self.port()))
    }

    /// The port to listen on; 0 is any free one.
    pub fn port(&self) -> u16 {
        // Checked when it was read.
        u16::try_from(self.listen_port.get()).unwrap_or_default()
    }
}

/// Every key.
pub fn all() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The key with this full name.
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}
