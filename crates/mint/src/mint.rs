use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use cdk::mint::{MintBuilder, MintMeltLimits, UnitConfig};
use cdk::nuts::nut00::KnownMethod;
use cdk::nuts::{CurrencyUnit, PaymentMethod};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::auth::TokenPolicy;
use crate::options::{KeysetVersion, MintOptions, Rotation};
use crate::payment::{QuoteBackend, received};
use crate::{server, storage};

const THREADS: usize = 2;

/// Largest amount of one quote: the sum of a keyset's amounts, which are powers of two below it.
const LARGEST_QUOTE: u64 = (1 << 32) - 1;

/// How long [`Mint::stop`] waits for requests that run.
const STOP: Duration = Duration::from_secs(5);

/// A running mint, on threads of its own. Dropping it ends it at once, with every connection, as a crash would.
pub struct Mint {
    mint: Arc<cdk::Mint>,
    address: SocketAddr,
    threads: Handle,
    runtime: StopOnDrop,
}

impl fmt::Debug for Mint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mint").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a mint has issued and redeemed of one unit, over all keysets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MintTotals {
    /// Sum of all signatures.
    pub issued: u64,
    /// Sum of all spent proofs.
    pub redeemed: u64,
}

impl MintTotals {
    /// The value of all unspent proofs. Input fees are not part of it.
    pub const fn outstanding(self) -> u64 {
        self.issued.saturating_sub(self.redeemed)
    }
}

impl Mint {
    /// Starts a mint. It listens when this returns.
    pub async fn start(options: MintOptions) -> anyhow::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("usher-mint").enable_all().build()?;
        let threads = runtime.handle().clone();
        let runtime = StopOnDrop(Some(runtime));
        let (mint, address) = threads.spawn(start(options)).await.context("the mint panicked")??;
        Ok(Self { mint, address, threads, runtime })
    }

    /// Its address as tokens name it: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Pays an open quote, which is named by its id or its invoice.
    pub async fn pay_quote(&self, quote: &str) -> anyhow::Result<()> {
        let (mint, named) = (Arc::clone(&self.mint), quote.to_owned());
        self.run(async move {
            let quotes = mint.mint_quotes().await?;
            let quote = quotes.into_iter().find(|quote| quote.id.to_string() == named || quote.request == named);
            let quote = quote.context("the mint has no such quote")?;
            let amount = quote.amount.as_ref().map_or(0, |amount| amount.value());
            let payment = received(&quote.request_lookup_id, amount, &quote.unit);
            Ok(mint.pay_mint_quote_for_request_id(payment).await?)
        })
        .await?
    }

    /// Replaces the active keyset of a unit; returns the new one's id. Proofs of the old one can still be spent.
    pub async fn rotate_keyset(&self, unit: &str, rotation: Rotation) -> anyhow::Result<String> {
        let (mint, unit) = (Arc::clone(&self.mint), parse_unit(unit)?);
        let v2 = rotation.version == KeysetVersion::V2;
        let fee = rotation.input_fee_ppk;
        let rotated = async move { mint.rotate_keyset(unit, amounts(), fee, v2, rotation.final_expiry).await };
        Ok(self.run(rotated).await??.id.to_string())
    }

    /// What it has issued and redeemed of a unit.
    pub async fn totals(&self, unit: &str) -> anyhow::Result<MintTotals> {
        let (mint, unit) = (Arc::clone(&self.mint), parse_unit(unit)?);
        self.run(async move {
            let units: BTreeMap<_, _> = mint.keysets().keysets.into_iter().map(|set| (set.id, set.unit)).collect();
            let sum = |totals: std::collections::HashMap<_, cdk::Amount>| {
                totals.iter().filter(|(id, _)| units.get(id) == Some(&unit)).map(|(_, amount)| u64::from(*amount)).sum()
            };
            Ok(MintTotals { issued: sum(mint.total_issued().await?), redeemed: sum(mint.total_redeemed().await?) })
        })
        .await?
    }

    /// Ends it, and returns when it is gone: another can be started on its folder and address at once.
    pub async fn stop(mut self) {
        let mint = Arc::clone(&self.mint);
        let _ = self.run(async move { mint.stop().await }).await;
        if let Some(runtime) = self.runtime.0.take() {
            let _ = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(STOP)).await;
        }
    }

    async fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> anyhow::Result<T> {
        self.threads.spawn(task).await.context("the mint panicked")
    }
}

/// A runtime that ends without waiting for its tasks: unlike a plain one it may be dropped within another runtime.
struct StopOnDrop(Option<Runtime>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Listens on this address. Its port is part of tokens: instead of any port (0), it gets one that it can have again.
async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if address.port() != 0 {
        return TcpListener::bind(address).await;
    }
    let listener = usher_loopback_port::listener(address.ip())?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

async fn start(options: MintOptions) -> anyhow::Result<(Arc<cdk::Mint>, SocketAddr)> {
    let listener = listen(options.listen).await.with_context(|| format!("cannot listen on {}", options.listen))?;
    let address = listener.local_addr()?;
    let (database, seed) = storage::open(options.folder.as_deref()).await?;
    let mut builder = MintBuilder::new(Arc::clone(&database) as _)
        .with_keyset_v2(Some(options.keysets == KeysetVersion::V2))
        .with_name("Usher's mint for trying things".to_owned())
        .with_urls(vec![format!("http://{address}")]);
    for unit in &options.units {
        let unit = parse_unit(unit)?;
        let limits = MintMeltLimits::new(1, LARGEST_QUOTE);
        let backend = Arc::new(QuoteBackend::new(unit.clone(), options.quotes));
        builder
            .configure_unit(unit.clone(), UnitConfig { amounts: amounts(), input_fee_ppk: options.input_fee_ppk })?;
        builder.add_payment_processor(unit, PaymentMethod::Known(KnownMethod::Bolt11), limits, backend).await?;
    }
    let info = builder.current_mint_info();
    let mint = Arc::new(builder.build_with_seed(database, &seed).await?);
    // A database that was there before has kept the description of the mint as it was then.
    let pubkey = mint.mint_info().await?.pubkey;
    mint.set_mint_info(cdk::nuts::MintInfo { pubkey, ..info }).await?;
    mint.start().await?;
    let required = options
        .auth_token
        .as_deref()
        .map(|token| TokenPolicy { token: token.into(), only_minting: options.auth_only_for_minting });
    let routes = server::routes(Arc::clone(&mint), required).await?;
    Handle::current().spawn(server::serve(listener, routes));
    Ok((mint, address))
}

fn parse_unit(unit: &str) -> anyhow::Result<CurrencyUnit> {
    unit.parse().map_err(|error| anyhow!("{unit:?} is not a unit: {error}"))
}

/// The amounts of a keyset: powers of two, the largest 2³¹.
fn amounts() -> Vec<u64> {
    (0..32).map(|power| 1 << power).collect()
}
