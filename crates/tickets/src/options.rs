use std::time::Duration;

use rustls::ClientConfig;

/// Options of the ticket wallet.
#[derive(Clone)]
pub struct TicketOptions {
    /// Allows private addresses and plain HTTP (`cashu.allow_private_mints`).
    pub allow_private: bool,
    /// Which servers are trusted over TLS; see [`tls_config`](usher_http_client::tls_config).
    pub tls: ClientConfig,
    /// How long a caller waits for a job, which continues afterwards; and from when on the token of one that is not
    /// [`repeatable`](usher_engine::ports::MintTerms::repeatable) joins the balance. Less than the time that a request may take.
    pub wait: Duration,
    /// The deadline of one request to a mint, from resolving the name to the end of the body.
    pub request_timeout: Duration,
    /// How long finished jobs are kept with their tokens, so that the same id gives the same result. At least 24 h.
    pub retention: Duration,
    /// Most unfinished jobs of one mint, except those that wait for the payment of a quote.
    pub max_jobs_per_mint: usize,
    /// Most unfinished jobs.
    pub max_jobs: usize,
    /// Most requests to one mint at once.
    pub requests_per_mint: usize,
    /// How often finished jobs are removed and proofs of expiring keysets are swapped.
    pub maintenance_interval: Duration,
    /// The longest pause between two attempts of a job.
    pub longest_pause: Duration,
}

impl TicketOptions {
    /// The default options, with this TLS configuration.
    pub fn new(tls: ClientConfig) -> Self {
        Self {
            allow_private: false,
            tls,
            wait: Duration::from_secs(30),
            request_timeout: Duration::from_secs(20),
            // Twice as long as an idempotency key is kept.
            retention: Duration::from_secs(48 * 60 * 60),
            max_jobs_per_mint: 256,
            max_jobs: 4096,
            requests_per_mint: 8,
            maintenance_interval: Duration::from_secs(60 * 60),
            longest_pause: Duration::from_secs(10 * 60),
        }
    }
}

usher_protocol::debug_shows!(TicketOptions { allow_private, wait, request_timeout, retention });
