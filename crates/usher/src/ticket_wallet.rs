//! The configured ticket wallet.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::Clock;
use usher_protocol::Keys;
use usher_store::Database;
use usher_tickets::{CashuWallet, TicketOptions};

use crate::config::Config;
use crate::failure::Failure;

/// How long a caller waits for a mint: less than the API's 25 s, so that the response can have the reason.
const WAIT: Duration = Duration::from_secs(20);

/// The ticket wallet with these records, not yet started.
pub(crate) fn open(
    config: &Config,
    keys: &Keys,
    store: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
) -> Result<CashuWallet, Failure> {
    let tls = usher_http_client::tls_config(Vec::new())?;
    let mut options = TicketOptions::new(tls);
    options.allow_private = config.cashu.allow_private_mints;
    options.wait = WAIT;
    Ok(CashuWallet::new(&keys.secret_key().secret_bytes(), store, clock, options)?)
}
