//! `usher wallet`: Lightning account, payments and subscriptions.

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentStatus, RecurringStatus, ServiceMessage, WalletMessage};
use usher_sandbox::cli::CliError;
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::WalletError;

use crate::cli::{Command, file, run, start, user_of};
use crate::payments::{invoice_request, next_answer, next_invoice, payment, recurring};
use crate::raw_client::LONG;
use crate::scripted_service::Service;

struct Fixture {
    _relay: EmbeddedRelay,
    service: Service,
    folder: TempDir,
    shop: Account,
    user: Account,
    nwc: NwcService,
}

impl Fixture {
    /// A user whose wallet is connected to an account with a million millisats.
    async fn set() -> Self {
        let network = LightningNetwork::new();
        let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 1_000_000));
        let relay = EmbeddedRelay::start().await.unwrap();
        let nwc = NwcService::start(&user, &[relay.url()]).await;
        nwc.ready(LONG).await.unwrap();
        let mut service = Service::start(relay.url()).await;
        let folder = user_of(&mut service).await;
        run(&folder, &["connect", &nwc.url()]).await.unwrap();
        Self { _relay: relay, service, folder, shop, user, nwc }
    }

    /// Sends a request, and repeats it as services do, until the command has ended or printed this.
    async fn ask_until(&mut self, message: &ServiceMessage, command: &Command, said: &str) {
        let key = file(&self.folder).identity.public_key();
        while !command.done.is_finished() && !command.output.text().contains(said) {
            self.service.send(&key, &[key], message).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Runs a command that waits for a request.
    async fn answering(&mut self, message: &ServiceMessage, arguments: &[&str]) -> Result<Value, CliError> {
        let command = start(&self.folder, arguments);
        self.ask_until(message, &command, "\n").await;
        command.done.await.unwrap()?;
        Ok(command.output.json().remove(0))
    }
}

#[tokio::test]
async fn connection_is_kept_secret_and_balance_is_shown() {
    let fixture = Fixture::set().await;
    let secret = fixture.nwc.keys().app.secret_key().to_secret_hex();
    let shown = run(&fixture.folder, &["show"]).await.unwrap().text();
    assert!(shown.contains("lightning   connected") && !shown.contains(&secret));
    assert!(!format!("{:?}", file(&fixture.folder)).contains(&secret));
    let balance = run(&fixture.folder, &["balance", "--json"]).await.unwrap();
    assert_eq!(balance.json()[0]["balance"], 1_000_000);
    let wrong = run(&fixture.folder, &["connect", &format!("https://example.org/{secret}")]).await.err().unwrap();
    assert!(matches!(wrong, CliError::Connection(_)) && !format!("{wrong} {wrong:?}").contains(&secret));

    let poor = tempfile::tempdir().unwrap();
    run(&poor, &["new"]).await.unwrap();
    assert!(matches!(run(&poor, &["balance"]).await, Err(CliError::NoPaymentSource)));
    assert!(run(&poor, &["subscriptions"]).await.unwrap().text().contains("no subscriptions"));
    assert!(matches!(run(&poor, &["close", "x"]).await, Err(CliError::NoSuchSubscription(_))));
}

#[tokio::test]
async fn payment_can_fail_then_succeed() {
    let mut fixture = Fixture::set().await;
    let invoice = fixture.shop.make_invoice(&InvoiceTerms::of(10_000)).unwrap();
    let message = payment("pay-me", 10_000, invoice.as_str(), None);
    let failed = fixture.answering(&message, &["fail", "--reason", "no route", "--json"]).await.unwrap();
    assert_eq!((failed["event"].as_str(), failed["id"].as_str()), (Some("failed"), Some("pay-me")));
    let (_, answer) = next_answer(&mut fixture.service).await;
    assert_eq!(answer.status, PaymentStatus::Failed { reason: Some("no route".to_owned()) });

    // It is still there to be approved.
    let listed = run(&fixture.folder, &["requests", "--wait", "0.1"]).await.unwrap().text();
    assert!(listed.starts_with("payment pay-me") && listed.contains("10,000 msat: tea"), "{listed}");
    let paid = run(&fixture.folder, &["approve", "--json"]).await.unwrap().json().remove(0);
    assert_eq!((&paid["event"], &paid["amount"]), (&"approved".into(), &10_000.into()));
    assert_eq!(paid["fees_paid"], 10);
    assert_eq!(paid["preimage"].as_str().unwrap().len(), 64);
    while !matches!(next_answer(&mut fixture.service).await.1.status, PaymentStatus::Success { preimage: Some(_) }) {}
    assert_eq!((fixture.shop.balance(), fixture.user.balance()), (10_000, 989_990));

    let dear = fixture.shop.make_invoice(&InvoiceTerms::of(10_000_000)).unwrap();
    let message = payment("dear", 10_000_000, dear.as_str(), None);
    let error = fixture.answering(&message, &["approve", "dear"]).await.unwrap_err();
    assert!(matches!(&error, CliError::Wallet(WalletError::PaymentSource(_))), "{error:?}");
    assert!(error.to_string().contains("insufficient balance"), "{error}");
}

#[tokio::test]
async fn subscription_can_be_approved_listed_and_closed() {
    let mut fixture = Fixture::set().await;
    let agreed = fixture.answering(&recurring("r", 9_000), &["approve", "--amount", "5000", "--json"]).await.unwrap();
    let id = agreed["subscription_id"].as_str().unwrap().to_owned();
    let (_, WalletMessage::RecurringResponse(response)) = fixture.service.next().await else { panic!() };
    let RecurringStatus::Confirmed { subscription_id, authorized_amount, .. } = response.status else { panic!() };
    assert_eq!((&subscription_id, authorized_amount), (&id, 5_000));

    let listed = run(&fixture.folder, &["subscriptions"]).await.unwrap().text();
    assert!(listed.contains("5,000 msat monthly, 0 paid, open: tea every month"), "{listed}");
    run(&fixture.folder, &["close", &id[..6], "--reason", "enough"]).await.unwrap();
    loop {
        if let (_, WalletMessage::CloseSubscription(close)) = fixture.service.next().await {
            assert_eq!((close.subscription_id, close.reason.as_deref()), (id.clone(), Some("enough")));
            break;
        }
    }
    let listed = run(&fixture.folder, &["subscriptions", "--json"]).await.unwrap().json().remove(0);
    assert_eq!((&listed["id"], &listed["closed"]["by_service"]), (&id.into(), &false.into()));
}

#[tokio::test]
async fn invoice_request_can_be_approved() {
    let mut fixture = Fixture::set().await;
    let sent = fixture.answering(&invoice_request("i", 21_000), &["approve", "--json"]).await.unwrap();
    let response = next_invoice(&mut fixture.service).await;
    assert_eq!(sent["invoice"], response.invoice);
    let invoice: Invoice = response.invoice.parse().unwrap();
    assert_eq!(invoice.amount(), Some(21_000));
    fixture.shop.grant(50_000);
    fixture.shop.pay(invoice.as_str(), None).unwrap();
    assert_eq!(run(&fixture.folder, &["balance"]).await.unwrap().text().trim(), "1,021,000 msat");
}

#[tokio::test]
async fn run_pays_subscriptions_and_executes_commands() {
    let mut fixture = Fixture::set().await;
    let running = start(&fixture.folder, &["run", "--pay-subscriptions", "--json"]);
    let say = async |line: &str| running.lines.send(line.to_owned()).await.unwrap();
    fixture.ask_until(&recurring("r", 9_000), &running, "\"id\":\"r\"").await;
    say("approve r").await;
    let id = loop {
        if let (_, WalletMessage::RecurringResponse(response)) = fixture.service.next().await {
            let RecurringStatus::Confirmed { subscription_id, .. } = response.status else { panic!() };
            break subscription_id;
        }
    };
    let due = fixture.shop.make_invoice(&InvoiceTerms::of(9_000)).unwrap();
    let message = payment("due", 9_000, due.as_str(), Some(&id));
    let key = file(&fixture.folder).identity.public_key();
    fixture.service.send(&key, &[key], &message).await;
    while fixture.shop.balance() < 9_000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    say("balance").await;
    say("subscriptions").await;
    say(&format!("close {id} thank you")).await;
    say("close nonsense").await;
    say("quit").await;
    let Command { output, done, .. } = running;
    done.await.unwrap().unwrap();
    let events = output.events();
    for event in ["approved", "balance", "subscription", "closed", "error"] {
        assert!(events.contains(&event.to_owned()), "{events:?}");
    }
    let kept = file(&fixture.folder).subscriptions.remove(0);
    assert_eq!((kept.id, kept.closed.unwrap().reason.as_deref()), (id, Some("thank you")));
}
