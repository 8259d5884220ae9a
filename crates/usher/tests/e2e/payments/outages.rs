//! A counterpart is away while the service's own backend shall pay, and the service is restarted meanwhile or is not: it ends
//! as it would have without.

use std::time::Duration;

use serde_json::json;
use usher_faults::lightning::{LookupLie, Memory};
use usher_faults::proxy::BreakableProxy;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;

use super::stage::{Stage, statuses};
use crate::harness::LONG;

/// As in the reports: long enough for the service to have tried.
const AWAY: Duration = Duration::from_secs(2);

/// What becomes of the service while its wallet's relay is away.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Nothing,
    Stopped,
    Killed,
    /// Killed when it was about to connect for the first time.
    KilledAtStart,
}

/// A service that reaches its wallet through a line that can be cut.
async fn behind_a_line() -> (Stage, BreakableProxy) {
    let mut stage = Stage::open().await;
    let proxy = BreakableProxy::start(stage.relay.url().trim_start_matches("ws://").to_owned()).await.unwrap();
    stage.usher.set("WALLET__NWC__URL", stage.wallet.keys().url(&[proxy.ws_url()]));
    stage.crash().await;
    (stage, proxy)
}

impl Stage {
    /// Asks for the payment of a new invoice; the stream, and what is paid.
    async fn owe(&self, amount: u64) -> (String, Invoice) {
        let payee = self.world.open_account("payee", 0);
        let invoice = payee.make_invoice(&InvoiceTerms::of(amount)).unwrap();
        (self.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await, invoice)
    }

    async fn paid_once(&self, stream: &str, invoice: &Invoice, what: impl std::fmt::Debug) {
        assert_eq!(statuses(&self.api().finished(stream).await), ["paid"], "{what:?}");
        assert_eq!(self.world.executed(invoice.payment_hash()), 1, "{what:?}");
        assert!(self.world.books().are_right());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_accepted_while_the_relay_was_away_is_made_when_it_is_back() {
    for ending in [Ending::Nothing, Ending::Stopped, Ending::Killed, Ending::KilledAtStart] {
        let (mut stage, proxy) = behind_a_line().await;
        proxy.cut();
        if matches!(ending, Ending::KilledAtStart) {
            stage.usher.restart().await;
        }
        let (stream, invoice) = stage.owe(5_000).await;
        match ending {
            Ending::Nothing => tokio::time::sleep(AWAY).await,
            Ending::Stopped => {
                tokio::time::sleep(AWAY).await;
                stage.usher.stop().await;
            }
            Ending::Killed => {
                tokio::time::sleep(AWAY).await;
                stage.usher.kill();
            }
            Ending::KilledAtStart => stage.usher.kill(),
        }
        proxy.restore();
        if !matches!(ending, Ending::Nothing) {
            stage.usher.spawn();
            stage.usher.ready().await.expect("it starts");
        }
        stage.paid_once(&stream, &invoice, ending).await;
        assert_eq!(stage.wallet.counts().calls(Method::PayInvoice), 1, "{ending:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_asked_for_while_the_wallet_was_away_is_made_when_it_is_back() {
    for memory in [Memory::Lasting, Memory::WhileRunning, Memory::None] {
        for ending in [Ending::Nothing, Ending::Stopped, Ending::Killed] {
            let mut stage = Stage::open().await;
            stage.wallet.set(|behaviour| {
                behaviour.memory = memory;
                behaviour.lookups = Some(LookupLie::ForgetPayments);
                behaviour.notifications = false;
            });
            stage.wallet.stop().await;
            let (stream, invoice) = stage.owe(5_000).await;
            tokio::time::sleep(AWAY).await;
            match ending {
                Ending::Stopped => {
                    stage.usher.stop().await;
                    stage.usher.spawn();
                }
                Ending::Killed => {
                    stage.usher.kill();
                    stage.usher.spawn();
                }
                Ending::Nothing | Ending::KilledAtStart => {}
            }
            stage.usher.ready().await.expect("it runs");
            stage.wallet.start_again().await;
            stage.paid_once(&stream, &invoice, (memory, ending)).await;
            assert_eq!(stage.wallet.counts().calls(Method::PayInvoice), 1, "the same request: {memory:?} {ending:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_to_pay_as_soon_as_the_wallet_is_back() {
    let stage = Stage::open().await;
    let user = stage.user(Policy::silent()).await;
    stage.wallet.stop().await;
    let before = stage.relay.counts().events_of(23_194);
    stage.ask(&user, 1_000).await;
    // Asked in vain, and then probed.
    stage.relay.wait_for(LONG, |counts| counts.events_of(23_194) >= before + 2).await.expect("asked");
    stage.wallet.start_again().await;
    user.next_request(LONG).await.expect("a request");
    assert_eq!(stage.wallet.counts().executed(Method::MakeInvoice), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_over_a_line_that_is_cut_again_and_again_is_made_once() {
    for memory in [Memory::Lasting, Memory::None] {
        let (stage, proxy) = behind_a_line().await;
        stage.wallet.set(|behaviour| {
            behaviour.memory = memory;
            behaviour.latency = Duration::from_millis(300);
        });
        let mut owed = Vec::new();
        for round in 0..8_u64 {
            owed.push(stage.owe(1_000 + round).await);
            tokio::time::sleep(Duration::from_millis(41 * round)).await;
            if round % 2 == 0 {
                proxy.cut()
            } else {
                proxy.swallow()
            }
            owed.push(stage.owe(2_000 + round).await);
            tokio::time::sleep(Duration::from_millis(300)).await;
            proxy.restore();
        }
        for (stream, invoice) in &owed {
            stage.paid_once(stream, invoice, memory).await;
        }
    }
}
