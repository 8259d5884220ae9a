//! Tickets in the engine: a real store, a scripted ticket wallet, and a manual clock.

use usher_protocol::message::{self, Addressed, CashuResponse, CashuStatus};
use usher_testing::ports::{MINT, token};

use crate::common::*;

pub(crate) struct Service {
    pub(crate) usher: Running,
    pub(crate) tickets: Arc<FakeTicketWallet>,
}

impl Service {
    pub(crate) async fn start() -> Self {
        Self::with(&[Part::Tickets]).await
    }

    pub(crate) async fn with(parts: &'static [Part]) -> Self {
        let usher = Running::with(parts).await;
        Self { tickets: usher.tickets.clone(), usher }
    }

    /// The process ends, whatever is under way, and another one begins after some time.
    pub(crate) async fn restart(self, after: Duration) -> Self {
        Self { usher: self.usher.restart(after).await, ..self }
    }

    async fn ask(&mut self, redeem: bool) -> (StreamId, String) {
        let request = RequestTicket {
            main_key: user(1).public_key(),
            subkeys: Vec::new(),
            mint_url: MINT.to_owned(),
            unit: "multi".to_owned(),
            amount: 2,
            redeem,
            auth: None,
            reference: Some("door-7".to_owned()),
            expires_at: Some(self.usher.clock.now().secs() + 600),
        };
        let stream = self.usher.engine.tickets().request(&Requester::Service, request, None).await.unwrap();
        loop {
            let message = self.usher.next_message().await.0;
            if message.kind == 29500 {
                let content: Value = serde_json::from_str(&message.content).unwrap();
                return (stream, content["request_id"].as_str().unwrap().to_owned());
            }
        }
    }

    pub(crate) async fn send(&self, to: u8, token: &Token) -> Result<StreamId, StartError> {
        let request =
            SendTicket { main_key: user(to).public_key(), subkeys: Vec::new(), token: token.clone(), reference: None };
        self.usher.engine.tickets().send(&Requester::Service, request, None).await
    }

    pub(crate) async fn last(&self, stream: StreamId, wanted: usize) -> Value {
        statuses(&self.usher, stream, wanted).await;
        let page = self.usher.read(stream, 0).await;
        assert_eq!(page.events.len(), wanted);
        data(&page, wanted - 1)
    }

    pub(crate) async fn outgoing(&self) -> Vec<(StreamId, String)> {
        let page = self.usher.engine.tickets().outgoing(&Requester::Service, Order::Oldest, None, 100).await.unwrap();
        page.items.iter().map(|(stream, delivery)| (*stream, delivery.status.as_str().to_owned())).collect()
    }
}

fn reply(request_id: &str, status: CashuStatus) -> WalletMessage {
    let inner = message::CashuRequest {
        request_id: request_id.to_owned(),
        mint_url: MINT.to_owned(),
        unit: "multi".to_owned(),
        amount: 2,
        expires_at: 0,
    };
    let keys = user(1).public_key();
    WalletMessage::CashuResponse(CashuResponse {
        request: Addressed { inner, main_key: keys, recipient: keys },
        status,
    })
}

fn gives(request_id: &str, token: &Token) -> WalletMessage {
    reply(request_id, CashuStatus::Success { token: token.0.clone().into() })
}

pub(crate) fn keyed<T: std::fmt::Debug + 'static>(n: u8) -> Option<IdempotentRequest<T>> {
    let render = |result: &T| RenderedResponse {
        status: 200,
        media_type: "text/plain".to_owned(),
        body: format!("{result:?}").into_bytes(),
    };
    Some(IdempotentRequest { key: IdempotencyKey([n; 32]), fingerprint: [n; 32], render: Box::new(render) })
}

pub(crate) fn mint(mint_url: &str) -> MintTicket {
    MintTicket { mint_url: mint_url.to_owned(), unit: "sat".to_owned(), amount: 5, description: None, auth: None }
}

pub(crate) fn ours() -> Token {
    token(MINT, "multi", 3, "ticket")
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_the_mint_is_asked_loses_no_token() {
    for (done, redeem) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut service = Service::start().await;
        let (stream, request) = service.ask(redeem).await;
        service.tickets.hang(Some((MINT, done)));
        // Only the user's tokens are checked at the mint, beginning with the first.
        service.usher.receive(1, &user(9), gives(&request, &token(MINT, "multi", 9, "forged"))).await;
        service.usher.receive(2, &user(1), gives(&request, &token(MINT, "multi", 2, "mine"))).await;
        service.usher.receive(3, &user(1), gives(&request, &token(MINT, "multi", 7, "second"))).await;
        let calls = |service: &Service| service.tickets.calls(if redeem { "redeem" } else { "verify" });
        until("the mint is asked", async || calls(&service).len() == 1).await;
        // It is down for longer than the request lives.
        let service = service.restart(Duration::from_secs(3600)).await;
        until("the mint is asked again", async || calls(&service).len() == 2).await;
        let service = service.restart(SECOND).await;
        service.tickets.hang(None);
        let service = service.restart(SECOND).await;
        let mut expected = json!({
            "status": "success", "amount": 1, "unit": "multi", "mint_url": MINT, "request_id": "door-7"
        });
        if !redeem {
            expected["amount"] = json!(2);
            expected["token"] = json!(token(MINT, "multi", 2, "swapped").0);
        }
        assert_eq!(service.last(stream, 1).await, expected);
        assert_eq!(service.tickets.balance(), u64::from(redeem));
        let jobs = calls(&service);
        assert!(jobs.iter().all(|job| *job == jobs[0]), "one job, however often it was asked for");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_is_paid_once_whatever_happens() {
    let service = Service::with(&[Part::Tickets, Part::Lightning]).await;
    let lightning = service.usher.wallet.clone();
    service.tickets.charge(5_000, &lightning);
    // The payment is under way when the process ends.
    lightning.hang_pays(true);
    let engine = service.usher.engine.clone();
    let lost = tokio::spawn(async move { engine.tickets().mint(&Requester::Service, mint(MINT), keyed(1)).await });
    until("it is paid", async || lightning.sent() == [1]).await;
    lost.abort();
    lightning.hang_pays(false);
    let service = service.restart(SECOND).await;
    for _ in 0..2 {
        let minted = service.usher.engine.tickets().mint(&Requester::Service, mint(MINT), keyed(1)).await.unwrap();
        assert_eq!(minted, token(MINT, "sat", 5, "minted-1"));
    }
    assert_eq!((lightning.sent(), service.tickets.minted()), (vec![1], 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_that_cannot_be_paid_gives_no_token() {
    let service = Service::start().await;
    service.tickets.charge(5_000, &service.usher.wallet);
    let refused = service.usher.engine.tickets().mint(&Requester::Service, mint(MINT), keyed(1)).await;
    assert!(matches!(refused, Err(TicketCallError::Start(StartError::NoLightning))), "{refused:?}");
    assert_eq!(service.tickets.calls("abandon_quote").len(), 1);

    let service = Service::with(&[Part::Tickets, Part::Lightning]).await;
    let lightning = service.usher.wallet.clone();
    // Five sats are worth 5,000 millisats.
    service.tickets.charge(5_001, &lightning);
    let refused = service.usher.engine.tickets().mint(&Requester::Service, mint(MINT), keyed(1)).await;
    let Err(TicketCallError::Ticket(TicketError::InvalidResponse(reason))) = refused else { panic!("{refused:?}") };
    assert_eq!(reason, "it asks for 5001 millisats for 5 sat");
    service.tickets.charge(200_000_000_000, &lightning);
    let other_unit = MintTicket { unit: "multi".to_owned(), ..mint(MINT) };
    let refused = service.usher.engine.tickets().mint(&Requester::Service, other_unit, keyed(2)).await;
    assert!(matches!(refused, Err(TicketCallError::Start(StartError::Invalid(_)))), "{refused:?}");
    assert_eq!(lightning.prepared(), 0, "nothing was paid");
    service.tickets.charge(5_000, &lightning);
    lightning.refuse(true);
    let refused = service.usher.engine.tickets().mint(&Requester::Service, mint(MINT), keyed(3)).await;
    assert!(matches!(refused, Err(TicketCallError::NotPaid { is_certain: true, .. })), "{refused:?}");
    assert_eq!(service.tickets.minted(), 0);
    assert_eq!(service.tickets.calls("abandon_quote").len(), 3, "nobody waits for the payment of these quotes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quotes_are_paid_for_clients_that_may_send_money_alone() {
    let service = Service::with(&[Part::Tickets, Part::Lightning]).await;
    let lightning = service.usher.wallet.clone();
    service.tickets.charge(5_000, &lightning);
    let ask = async |scopes: &[Scope], unit: &str, n: u8| {
        let client = api_key(7, |terms| terms.scopes = scopes.iter().copied().collect());
        let wanted = MintTicket { unit: unit.to_owned(), ..mint(MINT) };
        service.usher.engine.tickets().mint(&client, wanted, keyed(n)).await
    };
    for (n, unit) in [(1, "pts"), (2, "sat"), (3, "usd")] {
        let refused = ask(&[Scope::Tickets], unit, n).await;
        let lacks = TicketCallError::Start(StartError::ScopeMissing(Scope::PaymentsSend));
        assert_eq!(format!("{refused:?}"), format!("{:?}", Err::<Token, _>(lacks)));
    }
    assert_eq!((lightning.prepared(), service.tickets.calls("abandon_quote").len()), (0, 3));
    ask(&[Scope::Tickets, Scope::PaymentsSend], "sat", 4).await.unwrap();
    assert_eq!(lightning.sent(), [1]);
}
