//! The table of all configuration keys.

use std::net::IpAddr;

use super::key::Key;
use super::key_table_macro::configuration;
use super::setting::{
    ApiToken, BoundedInteger, ConsoleOperators, Currencies, DatabaseUrl, EmailDomain, HostName, HostPort, Hours,
    LnBackend, LogFilter, LogFormat, LoginMethods, Mnemonic, Nip05, NodeAddress, NoticeTargets, NwcUrl, OpenIdClients,
    Port, PrivateKey, ProfileName, ProxyNetworks, PublicKeys, RateSources, Relays, ReturnUrls, RpId, Secret, Text,
    Unit, UrlSchemes, VerificationProvider, WebUrl, WebhookSecret, WebhookUrl,
};
use usher_engine::ports::CurrencyCode;
use usher_page_layout::AccentColor;
use usher_protocol::bolt11::Network;
use usher_protocol::subkey::SubkeyProof;

configuration! {
    /// What belongs to no table stands above all of them, or in tables of its own: `[[notices]]`.
    [""] root: Root {
        /// Messages to you when something needs attention: by ntfy, by Nostr, or to a webhook. See docs/notices.md. Each table
        /// says where, with `ntfy` (and `token`), `nostr` or `webhook` (and `secret`), and in `on` what about.
        notices: Option<NoticeTargets>;
    }

    /// Where the service listens.
    ["info"] info: Info {
        /// The address to listen on. `127.0.0.1` accepts requests from this machine only, `0.0.0.0` from everywhere.
        /// The service speaks plain HTTP: put a TLS proxy in front of it if requests come over a network.
        listen_address: IpAddr = "\"127.0.0.1\"";
        /// The port to listen on. 0 uses any free port; the log shows which.
        listen_port: BoundedInteger<0, 65535> = "3000";
        /// The addresses of reverse proxies in front of the API, if there are any. Usher believes their `X-Forwarded-For` header
        /// when it checks from where a key is used (`networks`), and in the audit log. Let nothing but the proxy connect from
        /// there: whoever does chooses its address.
        trusted_proxies: ProxyNetworks = "[]";
    }

    /// Authentication.
    ["auth"] auth: Auth {
        /// The bearer token of every request. Generate one with `openssl rand -hex 32`.
        auth_token: ApiToken;
        /// The previous token, accepted as well while you change the token. See docs/operations.md.
        previous_token: Option<ApiToken>;
        /// How long a user may take to reply to an authentication challenge, in seconds.
        challenge_ttl_seconds: BoundedInteger<1, 86400> = "300";
    }

    /// The service on Nostr.
    ["nostr"] nostr: Nostr {
        /// The service's private key. Generate one with `usher key generate`; convert an `nsec…` with
        /// `usher key from-nsec`. Users' wallets know the service by this key: keep a copy in a safe place.
        private_key: PrivateKey;
        /// The relays that connect the service with users' wallets: at least two, of different operators, because a wallet
        /// sends each message once, and what it sends while one connection is renewed still arrives over the other. Prefer
        /// the relays that your users' wallets use.
        relays: Relays = "[\"wss://relay.damus.io\", \"wss://nos.lol\", \"wss://relay.primal.net\"]";
        /// If `private_key` is a subkey: the JSON text of the proof that it belongs to a main key. Users then know the
        /// service by the main key.
        subkey_proof: Option<SubkeyProof>;
        /// The schemes of handshake URLs. URLs that the API returns have the first; pages show a link and a code for each,
        /// because some wallets open only `portal`.
        url_scheme: UrlSchemes = "[\"nostr+walletconnect\", \"portal\"]";
        /// Whether relay URLs supplied by *users* may lead to private, loopback or link-local addresses. Use it for
        /// development only: it lets anybody make this machine connect to its own network.
        allow_private_relays: bool = "false";
    }

    /// Storage.
    ["database"] database: Database {
        /// The SQLite file. A relative path starts at the data directory.
        path: Text = "\"usher.db\"";
        /// A PostgreSQL database (14 or newer) in place of the SQLite file: `postgres://user:password@host/name`,
        /// or `…@host1,host2/name` for a primary and its replicas, of which the one that can be written to is used. Several
        /// instances with the same database are one service: one is active, the others forward to it and take over when it
        /// fails. The connection is encrypted and the server's certificate verified, unless the URL ends with
        /// `?sslmode=disable`. Not together with `wallet.ln_backend = "embedded"`.
        url: Option<DatabaseUrl>;
        /// A PEM file with certificates that the connection to PostgreSQL trusts besides the public authorities'.
        trusted_certificates: Option<Text>;
        /// `host:port` at which the other instances reach this one, over a private network: their requests are not encrypted.
        /// By default `info.listen_address` and the port.
        instance_address: Option<HostPort>;
        /// How long after its last contact with PostgreSQL an instance stays the active one, and how long the others wait at
        /// most to take over from one that has failed.
        lease_seconds: BoundedInteger<2, 60> = "5";
    }

    /// The Lightning backend, which creates and pays invoices.
    ["wallet"] wallet: Wallet {
        /// `none`, `nwc` for any wallet that supports Nostr Wallet Connect, or `embedded` for a Lightning node inside this
        /// program. Without a backend, requests that need one return 503.
        ln_backend: LnBackend = "\"none\"";
        /// The Bitcoin network of all invoices. Only `bitcoin` is real money.
        network: Network = "\"bitcoin\"";
        /// How many open invoices are looked up per second in total. Each is looked up after 5, 10, 20 and 40 seconds, and
        /// then less and less often. An invoice that expires, or whose payer reports a payment, is looked up at once, in
        /// addition.
        lookups_per_second: BoundedInteger<1, 1000> = "10";
        /// The most that the Lightning backend may pay within 24 hours, in millisats, fees included; a payment beyond it is
        /// refused. 0: it pays nothing. By default there is no limit.
        daily_budget_millisats: Option<BoundedInteger<0, 2100000000000000000>>;
        /// The largest expected fee of a payment by the Lightning backend, in percent of its amount. `daily_budget_millisats`
        /// must have room for it, and the log warns of a higher fee. NIP-47 cannot limit what a wallet pays: also set a limit
        /// in the wallet.
        max_fee_percent: BoundedInteger<0, 100> = "5";
        /// Money that leaves the Lightning backend in a payment of more than this many millisats, with the largest expected fee,
        /// waits until somebody else than who asked for it approves. 0: every payment waits. By default none does. See
        /// docs/approvals.md.
        approval_above_millisats: Option<BoundedInteger<0, 2100000000000000000>>;
        /// Who may approve such payments in the console (`console.enabled`), each as npub or as 64 hex characters; they see
        /// nothing else there unless they are operators. API keys with the scope `approvals` can approve, too.
        approvers: PublicKeys = "[]";
    }

    /// For `wallet.ln_backend = "nwc"`.
    ["wallet.nwc"] nwc: Nwc {
        /// The connection URL from the wallet. Anybody who has it can spend: give the connection a budget.
        url: Option<NwcUrl>;
    }

    /// For `wallet.ln_backend = "embedded"`: a Lightning node inside this program. Its data are in the folder `lightning` of
    /// the data directory. Also set `chain_url`, or the keys of `wallet.embedded.bitcoind`.
    ["wallet.embedded"] embedded: Embedded {
        /// The token by which the liquidity provider knows you. It is also sent to the server of `chain_url`, as bearer
        /// token. `none` if neither wants one.
        api_key: Option<Secret>;
        /// The seed: an English BIP-39 mnemonic. Anybody who has it has the money. Never use it in another wallet or node.
        mnemonic: Option<Mnemonic>;
        /// Where the node learns of blocks: the URL of an Esplora server.
        chain_url: Option<WebUrl>;
        /// Who opens channels for incoming payments (LSPS2). Without one, payments arrive only over channels that others
        /// open.
        liquidity_provider: Option<NodeAddress>;
        /// The most that the liquidity provider may keep of a payment for opening a channel, in percent of the payment. No
        /// invoice is made for which it wants more.
        max_opening_fee_percent: BoundedInteger<0, 100> = "10";
        /// Whether a new node looks for on-chain money of its mnemonic in the whole chain. A bitcoind must have all blocks for
        /// that, and it takes hours to days. With `chain_url` the node always does, and quickly.
        recover: bool = "false";
    }

    /// A bitcoind where the node learns of blocks, in place of `wallet.embedded.chain_url`.
    ["wallet.embedded.bitcoind"] bitcoind: Bitcoind {
        /// Its host name or IP address.
        host: Option<HostName>;
        /// Its RPC port. Default: the usual one for `wallet.network`.
        port: Option<Port>;
        /// The RPC user.
        rpc_user: Option<Text>;
        /// The password of the RPC user.
        rpc_password: Option<Secret>;
    }

    /// Exchange rates, for amounts in other currencies than millisats. See docs/rates.md.
    ["rates"] rates: Rates {
        /// Where the price of a bitcoin is read; the rate is the median. List at least three of different operators: then one that
        /// is wrong is noticed and left out. A table names any JSON document: `{ url = "…", pointer = "…" }`, where `{CURRENCY}`
        /// stands for the code of the currency, and `{currency}` for the code in lower case. Without sources, all amounts are in
        /// millisats.
        sources: Option<RateSources>;
        /// The currencies, such as EUR and USD. Required with `sources`.
        currencies: Currencies = "[]";
        /// How often the sources are read, in seconds. A price is used for ten minutes.
        refresh_seconds: BoundedInteger<1, 300> = "60";
    }

    /// Delivery of events by HTTP POST, in addition to polling.
    ["webhook"] webhook: Webhook {
        /// Where events are posted. Treated as a secret, because such URLs often contain one.
        url: Option<WebhookUrl>;
        /// Signs every delivery. A `whsec_…` secret (Standard Webhooks), or any text.
        secret: Option<WebhookSecret>;
        /// The previous secret, while you change it: `webhook-signature` then has signatures of both.
        previous_secret: Option<WebhookSecret>;
    }

    /// The service's own Nostr profile, published at start if any of these is set.
    ["profile"] profile: Profile {
        /// User name, without spaces.
        name: Option<ProfileName>;
        /// Display name; may contain spaces.
        display_name: Option<Text>;
        /// URL of a picture.
        picture: Option<WebUrl>;
        /// NIP-05 identifier.
        nip05: Option<Nip05>;
    }

    /// Key handshakes.
    ["handshake"] handshake: Handshake {
        /// How long a single-use handshake URL is valid, in seconds.
        ttl_seconds: BoundedInteger<1, 604800> = "600";
    }

    /// Event streams.
    ["streams"] streams: Streams {
        /// How many days the events of a finished operation stay readable, and each event of a stream that never ends.
        retention_days: BoundedInteger<1, 36500> = "30";
    }

    /// The audit log: who changed what. See docs/audit.md.
    ["audit"] audit: Audit {
        /// How many days an entry is kept.
        retention_days: BoundedInteger<1, 36500> = "400";
    }

    /// Payments.
    ["payments"] payments: Payments {
        /// How many days a payment stays in the books (`GET /payments`) after it has ended. They name no user.
        records_days: BoundedInteger<31, 36500> = "3650";
        /// Whether the service's NIP-05 name (`profile.nip05`) is a Lightning address, too: wallets can pay to it. Its domain must
        /// pass `/.well-known/lnurlp/` on to this service, and `pages.public_url` must be set.
        lightning_address: bool = "false";
    }

    /// Subscriptions that the service charges.
    ["subscriptions"] subscriptions: Subscriptions {
        /// After how many hours a failed automatic charge is retried: the first number counts from the first failure, each
        /// further one from the failure before it. An empty list: no retries.
        retry_hours: Hours = "[24, 72]";
    }

    /// Tickets: Cashu tokens. See docs/tickets.md.
    ["cashu"] cashu: Cashu {
        /// For how long a token sent to a user is sent again until it is redeemed, in hours.
        send_ttl_hours: BoundedInteger<1, 8760> = "168";
        /// Whether mints may be at private, loopback or link-local addresses, and may be reached without TLS. Use it for
        /// development, and if your own mint is on this machine or network and everybody who has the API token or a key with
        /// `tickets` may reach that network.
        allow_private_mints: bool = "false";
    }

    /// Resource limits.
    ["limits"] limits: Limits {
        /// How many operations may be open at a time; requests that start another return 503.
        max_open_streams: BoundedInteger<1, 1000000000> = "1000000";
        /// How many requests per second are accepted; more return 429. 0: unlimited.
        requests_per_second: BoundedInteger<0, 1000000> = "0";
        /// How many connections may be open at a time. One more closes the oldest one that has not sent the token; if all
        /// have, the new one gets 503.
        max_connections: BoundedInteger<1, 1000000> = "20000";
        /// How many connections without the token may be open; never more than half of `max_connections`, so that the rest
        /// is left for your app. One more closes the oldest of them.
        max_unauthenticated_connections: BoundedInteger<1, 1000000> = "5000";
        /// How many of these may come from one address (for IPv6, one /64 network); one more closes the oldest from there.
        /// Loopback is exempt: behind a proxy on this machine every client has that address.
        max_unauthenticated_per_address: BoundedInteger<1, 1000000> = "1000";
        /// How many requests may wait for events (`wait=`) at a time; one more returns 503.
        max_long_polls: BoundedInteger<1, 1000000> = "10000";
        /// How many event streams (server-sent events) may be open at a time; one more returns 503.
        max_event_streams: BoundedInteger<1, 1000000> = "10000";
        /// How many WebSockets (`/ws`) may be open at a time; one more returns 503.
        max_websockets: BoundedInteger<1, 1000000> = "10000";
        /// The largest payment, in millisats. The default is 1 BTC.
        max_amount_millisats: BoundedInteger<1, 2100000000000000000> = "100000000000";
    }

    /// Age verification.
    ["verification"] verification: Verification {
        /// Who decides: `manual` (your own staff), `oidc` or `remote`.
        provider: VerificationProvider = "\"manual\"";
        /// The Cashu mint that issues the proofs. Without one, users can be verified but get no proof.
        mint_url: Option<WebUrl>;
        /// The token by which the mint knows who may mint, if it wants one.
        mint_token: Option<ApiToken>;
        /// The unit of the proofs.
        unit: Unit = "\"multi\"";
        /// The amount of a proof, in its unit.
        amount: BoundedInteger<1, 1000000000> = "1";
        /// How long a user may take, in seconds.
        session_ttl_seconds: BoundedInteger<60, 86400> = "900";
        /// The minimum age, in years.
        minimum_age: BoundedInteger<1, 150> = "18";
    }

    /// For `verification.provider = "oidc"`: an OpenID Connect provider that knows its users' ages.
    ["verification.oidc"] oidc: VerificationOidc {
        /// The issuer identifier of the provider. `/.well-known/openid-configuration` below it describes the provider.
        issuer: Option<WebUrl>;
        /// The client that you have registered there, with `<pages.public_url>/verify/return` as redirect URI.
        client_id: Option<Text>;
        /// The secret of the client, if it has one.
        client_secret: Option<Secret>;
        /// The claim that tells the age: `true` or `false`, a date of birth, or an age in years. Default: `birthdate` or
        /// `age_over_<minimum_age>`.
        claim: Option<Text>;
        /// The scopes that are asked for besides `openid`, separated by spaces.
        scopes: Text = "\"profile\"";
    }

    /// For `verification.provider = "remote"`: an external verification service. docs/verification.md describes what it must
    /// do.
    ["verification.remote"] remote: VerificationRemote {
        /// The URL of the service.
        url: Option<WebUrl>;
        /// Sent to the service as bearer token.
        api_key: Option<ApiToken>;
    }

    /// Pages for users' browsers.
    ["pages"] pages: Pages {
        /// How a user's browser reaches this service. Default: the loopback address on which it listens, which only
        /// browsers on the same machine reach. Use https unless it is one. With a path, a proxy may take it away or pass it on.
        public_url: Option<WebUrl>;
        /// The domain that passkeys are bound to (WebAuthn's RP id): the host of `pages.public_url` by default, or a domain
        /// above it. Users' keys depend on it: under another domain, users have other keys. Pages at other hosts below it can
        /// ask for the same passkeys, so name one only if you control them all. Passkeys are offered when `pages.public_url`
        /// is https with a domain name, or http://localhost.
        passkey_rp_id: Option<RpId>;
        /// Where pages may lead a browser at the end: the `return_url` of a request must have the same scheme, host and port
        /// as one of these, and the same path or one below it. `http://localhost` without a port allows every port, for development.
        return_urls: ReturnUrls = "[]";
        /// The colour of buttons and links. White text on it must be readable (WCAG 2.2: a contrast of at least 4.5 to 1). Dark
        /// pages have a lighter tint of it.
        accent_color: AccentColor = "\"#1d4fa8\"";
        /// A page with help for your users, to which pages link.
        help_url: Option<WebUrl>;
        /// The currency in which pages also show about how much amounts in sats are: one of `rates.currencies`. By default
        /// none.
        show_currency: Option<CurrencyCode>;
        /// The ways to log in that login pages offer, in this order: `extension` (a browser extension), `passkey` (the key
        /// is made of a passkey of the device), `wallet` (a code to scan, or a link), `signer` (a remote signer). By default all of
        /// them, the one first that this browser is likely to use.
        /// A wallet that opens a login's `url` can log in whatever this says.
        login_methods: Option<LoginMethods>;
        /// A port for the pages, OpenID Connect and `/.well-known/nostr.json` alone, at `info.listen_address`. Nothing of the
        /// API is there, so a proxy can pass everything to it; the pages are then no longer at `info.listen_port`. 0 uses any
        /// free port.
        listen_port: Option<BoundedInteger<0, 65535>>;
        /// The addresses of the reverse proxies in front of the pages. Usher believes their `X-Forwarded-For` header there, to limit
        /// how many logins one address may begin on the page of a reusable login and with OpenID Connect, and what it may make the
        /// OpenID Connect provider store. Make sure that the proxy sets the header: otherwise anybody can send one. Without this,
        /// all users behind a proxy share one limit. The API has a setting of its own: `info.trusted_proxies`.
        trusted_proxies: ProxyNetworks = "[]";
    }

    /// The console, with which people operate the service in a browser. See docs/console.md.
    ["console"] console: Console {
        /// Whether the pages have `/console`.
        enabled: bool = "true";
        /// The networks from which the console can be used, at most 32. By default all.
        networks: ProxyNetworks = "[]";
        /// Who may use the console, each with `key` (npub or 64 hex characters), `name`, and `role`: `viewer`, `support` or
        /// `admin`. People whom you invite (`usher console invite`) need not be here.
        operators: ConsoleOperators = "[]";
    }

    /// Logs users in to other apps: the service as an OpenID Connect provider. See docs/oidc.md.
    ["oidc"] openid_provider: OpenId {
        /// The apps that may use it. Without any, the service is no provider.
        clients: Option<OpenIdClients>;
        /// The domain of the addresses in the claim `email`, which some apps need to make an account: `<key in hex>@<domain>`.
        /// Use a domain of yours that receives no mail. Without it, there is no such claim.
        email_domain: Option<EmailDomain>;
        /// How long a browser stays logged in, so that further apps need no new login, in hours.
        session_hours: BoundedInteger<1, 720> = "8";
    }

    /// Logging, to standard output.
    ["log"] log: Log {
        /// The log level: `error`, `warn`, `info` (the default), `debug` or `trace`, or a list of levels by component, such
        /// as `warn,usher_relays=debug`. The environment variable `RUST_LOG` overrides it. SIGHUP reloads it.
        level: Option<LogFilter>;
        /// `text` for people, `json` for machines (one object per line).
        format: LogFormat = "\"text\"";
    }
}

impl Info {
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
