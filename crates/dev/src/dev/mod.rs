//! `usher dev`: the service with its environment, for trials and development.
//!
//! The service is the one of `usher serve`, over real sockets; the relay, the user's wallet and Lightning are the
//! sandbox's, and the Cashu mint is a separate program (`mint`). With `--embedded` the service runs its own Lightning
//! node, and the user pays from a node of a small Lightning network (`network`).

mod banner;
mod browser;
mod clock;
mod data_dir;
mod defaults;
mod environment;
mod lan;
mod mint;
mod network;
mod readiness;
mod setup;
mod shell_environment;
mod test_routes;
mod test_wallet;
mod ticket_commands;
mod tour;
mod wallet_console;

use std::fmt::Display;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use usher::cli::{DevAction, DevCommand};
use usher::command::serve::stop;
use usher::config::setting::{BoundedInteger, LogFilter};
use usher::config::{Config, Loaded, Source, load, report};
use usher::database::open_sqlite;
use usher::failure::Failure;
use usher::logging::{self, Output};
use usher::output::{tell, write};
use usher::process;
use usher::service_lifecycle::{Listeners, Mode, Service, TestMode, TestRoutes};
use usher::signals::Signals;
use usher_engine::access::KeyRing;
use usher_engine::{Engine, KeyHandshakeRequest, Requester};
use usher_instance::LeaseGate;
use usher_page_layout::Site;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Policy, ScriptedOutcomes, WorkCount};

use self::banner::banner;
use self::browser::{About, Browser};
use self::clock::DevClock;
use self::data_dir::{DataDir, source};
use self::defaults::Defaults;
use self::environment::DevEnvironment;
use self::mint::DevMint;
use self::network::DevNetwork;
use self::setup::Setup;
use self::shell_environment::EnvironmentFile;
use self::test_routes::ClockMover;
use self::test_wallet::TestWallet;
use self::wallet_console::{Prompt, Reply};
use crate::standard_input::standard_input;

/// The default log filter. The embedded relay logs an error when a wallet disconnects.
const USUAL_LOG: &str = "warn,nostr_relay_builder=off";

/// The default port of the service; any free one if it is taken.
const PORT: u16 = 3000;

/// The default port of the pages with `--lan`; any free one if it is taken.
const PAGES_PORT: u16 = 3001;

/// The default port of the relay; any free one if it is taken. Constant, because handshake URLs contain it.
const RELAY_PORT: u16 = 7777;

/// The pause after a connection that cannot be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// The token of the displayed handshake URL: reusable, so that it neither expires nor is used up.
const STATIC_TOKEN: &str = "usher-dev";

/// Runs everything until a signal or `quit`.
///
/// # Errors
/// If something cannot start, for example because a requested port is taken.
pub(crate) fn run(command: &DevCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(DevAction::Env) = command.action {
        return shell_environment::print(data_dir.as_deref());
    }
    if command.embedded && data_dir.is_some() {
        return Err(Failure::usage(
            "--embedded cannot be used with --data-dir: its Bitcoin chain is new at each start, and a Lightning node cannot \
             be taken to another chain",
        ));
    }
    let folder = DataDir::open(data_dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(develop(command, &folder));
    // Does not wait for work cut off by a second signal.
    runtime.shutdown_background();
    outcome
}

async fn develop(command: &DevCommand, folder: &DataDir) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let lan = command.lan.map(lan::address).transpose()?;
    // Before anything is written into the folder: `config.toml` may have another purpose, or another user.
    let given = load(&source(folder.path(), &[]));
    let own = match &given.config {
        Some(config) => config,
        None => return Err(Failure::Configuration(report::problems(&given))),
    };
    let store = open_sqlite(own, folder.path())?;
    let port = command.port.or_else(|| given.is_set("info.listen_port").then(|| own.info.port()));
    tell_ignored(&given);
    let network = if command.embedded { Some(DevNetwork::start().await?) } else { None };
    let listens_at = if command.container { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    let (listener, beside) = listen(listens_at, port.or_else(|| command.container.then_some(PORT))).await?;
    let relay_port = command.relay_port.or_else(|| command.container.then_some(RELAY_PORT));
    let relay = listen_for_wallets(lan.unwrap_or(listens_at), relay_port).await?;
    let clock = DevClock::open(folder.path())?;
    tell_ahead(&clock);
    let messages = relay.received();
    let payer = network.as_ref().map(DevNetwork::payer);
    let world = DevEnvironment::start(folder.path(), relay, payer, Arc::clone(&clock)).await?;
    let mint = DevMint::start(folder).await;
    let lightning = network.as_ref().map_or_else(
        || vec![("SERVICE__WALLET__LN_BACKEND", "nwc".to_owned()), ("SERVICE__WALLET__NWC__URL", world.nwc_url())],
        DevNetwork::variables,
    );
    let mut variables = vec![
        ("SERVICE__NOSTR__RELAYS", world.relay_url()),
        // The relay is on loopback or in the local network.
        ("SERVICE__NOSTR__ALLOW_PRIVATE_RELAYS", "true"),
        ("SERVICE__WALLET__NETWORK", "regtest"),
    ];
    variables.extend(lightning.iter().map(|(name, value)| (*name, value.as_str())));
    // Only for the pages: the listener of the API is created here.
    let at_lan = lan.map(|address| (address.to_string(), pages_port(address, port).to_string()));
    if let Some((address, port)) = &at_lan {
        variables.push(("SERVICE__INFO__LISTEN_ADDRESS", address));
        if !given.is_set("pages.listen_port") {
            variables.push(("SERVICE__PAGES__LISTEN_PORT", port));
        }
    }
    let api_port = u64::from(listener.local_addr()?.port());
    let pages_port = own.pages.listen_port.map_or(api_port, BoundedInteger::get);
    let defaults = Defaults::beside(&given, Some(pages_port).filter(|port| lan.is_none() && *port != 0));
    variables.extend(defaults.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    // The mint is on loopback.
    variables.push(("SERVICE__CASHU__ALLOW_PRIVATE_MINTS", "true"));
    // A mint in the folder's configuration takes precedence.
    if let Some(mint) = mint.as_ref().filter(|_| !given.is_set("verification.mint_url")) {
        variables.push(("SERVICE__VERIFICATION__MINT_URL", mint.url()));
        variables.push(("SERVICE__VERIFICATION__MINT_TOKEN", mint.token().expose_secret()));
    }
    let source = source(folder.path(), &variables);
    let config = &read(&source)?;
    // Standard output is for the reader, with only important log lines.
    logging::start(config.log.format, Output::Stderr, USUAL_LOG, config.log.level.as_ref().map(LogFilter::as_str))?;

    process::raise_file_limit(0);
    process::log_panics();

    let listeners = Listeners::beside(listener, config).await?;
    let policy = if command.auto_approve { Policy::auto_approve() } else { Policy::silent() };
    let (outcomes, work) = (ScriptedOutcomes::default(), WorkCount::default());
    let wallet =
        world.wallet(policy.paying_subscriptions().receiving_tickets(), outcomes.clone(), work.clone()).await?;
    let wallet = TestWallet::new(wallet, world.wallet_file());
    let base = format!("http://localhost:{api_port}");
    let start_page = format!("{base}/");
    let routes = {
        let (wallet, accent) = (Arc::clone(&wallet), config.pages.accent_color.clone());
        let about = About {
            base: base.clone(),
            token: config.auth.auth_token.secret().clone(),
            price: tour::amount(command.embedded),
            mint: mint.as_ref().map(|mint| (mint.url().to_owned(), mint.token().clone())),
        };
        let clock = Some(Arc::clone(&clock)).filter(|_| !command.embedded);
        Box::new(move |engine: &Arc<Engine>, site: &Site, keys: &Arc<KeyRing>| {
            let mover = ClockMover::new(clock, Arc::clone(engine), messages, work);
            let with_token = test_routes::routes(outcomes, mover);
            TestRoutes { with_token, ..Browser::new(engine, keys, wallet, site, &accent, about).routes() }
        })
    };
    let mode = Mode::Test(TestMode { picture: defaults.picture, clock, routes });
    let service = Service::start(config, folder.path(), mode, store, listeners, LeaseGate::default()).await?;
    let request =
        KeyHandshakeRequest { static_token: Some(STATIC_TOKEN.to_owned()), no_request: None, return_url: None };
    let handshake = service.engine().handshakes().start(&Requester::Service, request, None).await?;
    // The phone shows by name who asks.
    wallet.open(&handshake.url).await;
    readiness::lightning(service.engine()).await;

    let setup = Setup {
        service: service.address(),
        token: config.auth.auth_token.secret(),
        relay: world.relay_url(),
        handshake: &handshake,
        start_page: &start_page,
        lan,
        container: command.container,
        user: wallet.wallet().main_key(),
        wallet_file: world.wallet_file(),
        mint: mint.as_ref(),
        folder,
        auto_approve: command.auto_approve,
        embedded: command.embedded,
    };
    let _environment = EnvironmentFile::create(&setup)?;
    write(&banner(&setup))?;
    if command.open {
        open_in_browser(&start_page);
    }

    let prompt = Prompt::new(&wallet, &setup);
    let outcome = tokio::select! {
        outcome = converse(&prompt, &mut signals) => outcome,
        failure = keep_mining(network.as_ref()) => Err(failure),
        () = pass_on(beside, (Ipv4Addr::LOCALHOST, setup.service.port()).into()) => Ok(()),
        () = service.failed() => Err(Failure::said("a part of the service has failed (see the log): start again")),
    };
    wallet.stop().await;
    let stopped = stop(service, &mut signals).await;
    if let Some(mint) = mint {
        mint.stop().await;
    }
    // It uses the network, so it is stopped first.
    world.stop().await;
    if let Some(network) = network {
        network.stop().await;
    }
    outcome.and(stopped)
}

fn open_in_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tell(&format!("usher: no browser was opened: {program} does not start: {error}"));
    }
}

/// Mines blocks on the chain, if there is one, until that fails.
async fn keep_mining(network: Option<&DevNetwork>) -> Failure {
    match network {
        Some(network) => network.keep_mining().await,
        None => std::future::pending().await,
    }
}

/// Executes typed commands and prints services' requests, until a signal or `quit`.
async fn converse(prompt: &Prompt<'_>, signals: &mut Signals) -> Result<(), Failure> {
    let mut lines = standard_input()?;
    loop {
        tokio::select! {
            Some(line) = lines.recv() => match prompt.execute(&line).await {
                Reply::Say(text) => write(&format!("{text}\n"))?,
                Reply::Quit => return Ok(()),
            },
            text = prompt.news() => write(&format!("{text}\n"))?,
            _ = signals.next() => return Ok(()),
        }
    }
}

/// Reads the configuration.
///
/// # Errors
/// If it has errors.
fn read(source: &Source) -> Result<Config, Failure> {
    let mut loaded = load(source);
    loaded.config.take().ok_or_else(|| Failure::Configuration(report::problems(&loaded)))
}

/// Settings of the folder without effect here, with the reason.
const IGNORED: [(&str, &str); 7] = [
    ("cashu.allow_private_mints", "the mint is on this machine"),
    ("info.listen_address", "the API listens on 127.0.0.1 only"),
    ("nostr.relays", "it uses the embedded relay"),
    ("nostr.allow_private_relays", "the embedded relay is on this machine"),
    ("wallet.ln_backend", "it uses the embedded Lightning accounts"),
    ("wallet.network", "its Lightning accounts are on regtest"),
    ("wallet.nwc.url", "it uses the embedded Lightning accounts"),
];

/// Prints which settings of the folder have no effect.
fn tell_ignored(given: &Loaded) {
    for (name, reason) in IGNORED.into_iter().filter(|(name, _)| given.is_set(name)) {
        tell(&format!("usher: {name} in config.toml has no effect in `usher dev`: {reason}"));
    }
}

/// Prints by how much the service's clock is ahead, if it was moved.
fn tell_ahead(clock: &DevClock) {
    let ahead = clock.ahead();
    if !ahead.is_zero() {
        let (days, seconds) = (ahead.as_secs() / 86_400, ahead.as_secs() % 86_400);
        tell(&format!("usher: the clock of this folder was moved: it is {days} days and {seconds} seconds ahead"));
    }
}

/// Listens for API and pages at 127.0.0.1 and, if it exists, at `::1`: browsers use either for `localhost`.
async fn listen(address: Ipv4Addr, port: Option<u16>) -> Result<(TcpListener, Option<TcpListener>), Failure> {
    if let Some(port) = port {
        let refused = |error| Failure::said(format!("cannot listen on localhost:{port}: {error}"));
        return bind_both(address, port).await.map_err(refused);
    }
    if let Ok(listeners) = bind_both(address, PORT).await {
        return Ok(listeners);
    }
    let listeners = bind_both(address, 0).await?;
    tell_taken("service", PORT, listeners.0.local_addr()?.port());
    Ok(listeners)
}

async fn bind_both(address: Ipv4Addr, port: u16) -> io::Result<(TcpListener, Option<TcpListener>)> {
    let listener = TcpListener::bind((address, port)).await?;
    match TcpListener::bind((Ipv6Addr::LOCALHOST, listener.local_addr()?.port())).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        beside => Ok((listener, beside.ok())),
    }
}

/// Forwards connections to `::1`.
async fn pass_on(listener: Option<TcpListener>, to: SocketAddr) {
    let Some(listener) = listener else { return std::future::pending().await };
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((mut from, _)) => {
                connections.spawn(async move {
                    let mut to = TcpStream::connect(to).await?;
                    copy_bidirectional(&mut from, &mut to).await
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

/// The relay, at its default port unless that is taken.
async fn listen_for_wallets(address: Ipv4Addr, port: Option<u16>) -> Result<EmbeddedRelay, Failure> {
    if let Some(port) = port {
        return environment::relay((address, port).into()).await;
    }
    if let Ok(relay) = environment::relay((address, RELAY_PORT).into()).await {
        return Ok(relay);
    }
    let relay = environment::relay((address, 0).into()).await?;
    let other =
        relay.url().rsplit_once(':').map_or_else(String::new, |(_, port)| port.trim_end_matches('/').to_owned());
    tell_taken("relay", RELAY_PORT, other);
    Ok(relay)
}

fn tell_taken(what: &str, wanted: u16, taken: impl Display) {
    tell(&format!("usher: another program uses port {wanted}: the {what} is at port {taken}"));
}

/// The port of the pages in the local network; any free port if the API's is 0, as in tests.
fn pages_port(address: Ipv4Addr, api: Option<u16>) -> u16 {
    let is_wanted = api != Some(0) && api != Some(PAGES_PORT);
    if is_wanted && std::net::TcpListener::bind((address, PAGES_PORT)).is_ok() { PAGES_PORT } else { 0 }
}
