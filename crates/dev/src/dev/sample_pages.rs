//! Sample pages, to open in a browser.

use std::fmt;
use std::time::Duration;

use usher::failure::Failure;
use usher_engine::request_body::RequestedCurrency;
use usher_engine::{Engine, LoginRequest, Requester, SinglePaymentRequest, VerificationSessionRequest};

/// How long the payment waits for the Lightning backend. If it is requested before, its invoice is created later and a
/// warning logged.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Pages {
    login: String,
    payment: String,
    age_check: String,
}

impl Pages {
    /// Starts a login, a payment of `amount` millisats and an age check.
    ///
    /// # Errors
    /// If one of them cannot be started, for example because too many are open.
    pub(super) async fn start(engine: &Engine, amount: u64) -> Result<Self, Failure> {
        // The pages are shown even without the backend.
        let _ = tokio::time::timeout(TIMEOUT, until_ready(engine)).await;
        let login = engine.logins().start(&Requester::Service, LoginRequest::default(), None).await?;
        let payment = SinglePaymentRequest {
            main_key: None,
            subkeys: Vec::new(),
            description: "Tea".to_owned(),
            amount,
            currency: RequestedCurrency::Millisats,
            subscription_id: None,
            reference: None,
            expires_at: None,
            return_url: None,
        };
        let payment = engine.payments().request(&Requester::Service, payment, None).await?.stream_id;
        let session =
            engine.verification().start(&Requester::Service, VerificationSessionRequest::default(), None).await?;
        Ok(Self { login: login.page_url, payment: engine.payments().page_url(payment), age_check: session.session_url })
    }
}

/// Waits for the Lightning backend; for a node, also until it has read the chain.
async fn until_ready(engine: &Engine) {
    while !is_ready(engine).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn is_ready(engine: &Engine) -> bool {
    let is_connected = engine.lightning_status().is_none_or(|(_, status)| status.connected);
    is_connected
        && match engine.lightning_node() {
            Some(node) => node.state().await.is_ok_and(|state| state.synced_at.is_some()),
            None => true,
        }
}

impl fmt::Display for Pages {
    /// A line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { login, payment, age_check } = self;
        write!(f, "  login page {login}\n  payment    {payment}\n  age check  {age_check}")
    }
}
