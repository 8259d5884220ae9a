//! The reference wallet receives, holds and gives tickets, at a real mint.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use usher_engine::ports::{
    MintAuthToken, MintTerms, Minted, ReceiveTerms, SystemClock, TicketBalance, TicketError, TicketJobId,
    TicketWallet as _, Token, TokenFault, TokenState,
};
use usher_mint::{Mint, MintOptions};
use usher_protocol::Keys;
use usher_protocol::message::{CashuDirect, CashuRequest, CashuStatus, ServiceMessage, WalletMessage};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{
    GivenState, Identity, KnownMint, NoRequest, Policy, Request, RequestContent, Secret, TicketAmount, Tickets,
    TicketsError, Wallet, WalletError, WalletOptions,
};
use usher_store::{SqliteOptions, SqliteStore};
use usher_tickets::{CashuWallet, TicketOptions};

use crate::raw_client::{LONG, QUIET};
use crate::scripted_service::Service;

/// A unit of the mint.
const UNIT: &str = "multi";

/// A service with a ticket wallet of its own, and a user.
pub(crate) struct Fixture {
    mint: Option<Mint>,
    pub(crate) service: Service,
    pub(crate) own: CashuWallet,
    _relay: EmbeddedRelay,
    folder: TempDir,
}

impl Fixture {
    pub(crate) async fn with(options: MintOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mint = Mint::start(options.folder(folder.path().join("mint"))).await.unwrap();
        let relay = EmbeddedRelay::start().await.unwrap();
        let service = Service::start(relay.url()).await;
        let own = own_wallet(folder.path()).await;
        Self { mint: Some(mint), service, own, _relay: relay, folder }
    }

    /// The running mint.
    pub(crate) fn mint(&self) -> &Mint {
        self.mint.as_ref().unwrap()
    }

    async fn new() -> Self {
        Self::with(MintOptions::new()).await
    }

    /// A token that the service has minted.
    pub(crate) async fn token(&self, amount: u64, auth: Option<&str>) -> Token {
        minted(&self.own, &self.mint().url(), amount, auth).await
    }

    /// The user's tickets in a file of this name.
    fn tickets(&self, name: &str) -> Tickets {
        Tickets::at(self.folder.path().join(name), Keys::parse(&"7".repeat(64)).unwrap())
    }

    /// A user who has opened the service's URL.
    async fn user(&mut self, policy: Policy) -> Wallet {
        let wallet = self.stranger(policy).await;
        wallet.open(&self.service.url(), LONG).await.unwrap();
        self.service.next_handshake().await;
        wallet
    }

    /// A user whom the service knows, but who has not opened its URL.
    async fn stranger(&self, policy: Policy) -> Wallet {
        let [relay] = &self.service.url().relays[..] else { panic!() };
        let options = WalletOptions::new(Identity::generate()).relay(relay).policy(policy);
        let wallet = Wallet::start(options.holding(self.tickets("user.db"))).await;
        wallet.wait_for_relay(std::slice::from_ref(relay), LONG).await.unwrap();
        wallet
    }

    async fn send(&mut self, wallet: &Wallet, token: &Token) {
        let message = ServiceMessage::CashuDirect(CashuDirect { token: token.0.clone().into() });
        self.service.send(&wallet.public_key(), &[wallet.public_key()], &message).await;
    }

    async fn ask(&mut self, wallet: &Wallet, id: &str, amount: u64) {
        let message = ServiceMessage::CashuRequest(CashuRequest {
            request_id: id.to_owned(),
            mint_url: self.mint().url(),
            unit: UNIT.to_owned(),
            amount,
            expires_at: nostr::Timestamp::now().as_secs() + 300,
        });
        self.service.send(&wallet.public_key(), &[wallet.public_key()], &message).await;
    }

    /// The wallet's next reply to a request for a ticket.
    async fn reply(&mut self) -> (String, CashuStatus) {
        loop {
            match self.service.next().await.1 {
                WalletMessage::CashuResponse(response) => return (response.request.inner.request_id, response.status),
                WalletMessage::KeyHandshake(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Stops the mint; returns its address.
    async fn stop_mint(&mut self) -> SocketAddr {
        let mint = self.mint.take().unwrap();
        let address = mint.url().trim_start_matches("http://").parse().unwrap();
        mint.stop().await;
        address
    }

    /// Starts the same mint again.
    async fn start_mint(&mut self, address: SocketAddr) {
        let options = MintOptions::new().folder(self.folder.path().join("mint")).listen(address);
        self.mint = Some(Mint::start(options).await.unwrap());
    }

    /// Redeems a token as the service does.
    async fn redeem(&self, id: &str, token: &Token) -> Result<u64, TicketError> {
        let terms = ReceiveTerms {
            token: token.clone(),
            mint_url: self.mint().url(),
            unit: UNIT.to_owned(),
            at_least: 0,
            auth: None,
        };
        self.own.redeem(TicketJobId::derive("test", id.as_bytes()), &terms).await
    }

    /// What the user holds.
    async fn held(&self) -> u64 {
        sum(&self.tickets("user.db").balances().await.unwrap())
    }
}

/// The service's own ticket wallet.
async fn own_wallet(folder: &Path) -> CashuWallet {
    let store = SqliteStore::open(&folder.join("service.db"), SqliteOptions::default()).unwrap();
    let mut options = TicketOptions::new(usher_http_client::tls_config(Vec::new()).unwrap());
    options.allow_private = true;
    let wallet = CashuWallet::new(&[3; 32], Arc::new(store), Arc::new(SystemClock), options).unwrap();
    wallet.start().await.unwrap();
    wallet
}

async fn minted(wallet: &CashuWallet, mint_url: &str, amount: u64, auth: Option<&str>) -> Token {
    let terms = MintTerms {
        mint_url: mint_url.to_owned(),
        unit: UNIT.to_owned(),
        amount,
        description: None,
        auth: auth.map(|token| MintAuthToken(token.to_owned())),
        repeatable: true,
    };
    let id = TicketJobId(rand::random());
    match wallet.mint(id, &terms).await.unwrap() {
        Minted::Token(token) => token,
        Minted::PaymentNeeded { .. } => panic!("the mint wants a payment"),
    }
}

fn sum(balances: &[TicketBalance]) -> u64 {
    balances.iter().map(|held| held.amount).sum()
}

/// What was received, or why not.
fn outcome(request: &Request) -> Result<u64, String> {
    let RequestContent::Token(sent) = &request.content else { panic!("{request:?}") };
    sent.outcome.clone().expect("it is decided").map(|received| received.amount)
}

fn exactly(amount: u64) -> TicketAmount {
    TicketAmount { amount, unit: None, mint_url: None }
}

#[tokio::test]
async fn received_ticket_is_swapped_so_the_sender_cannot_spend_it() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::silent().receiving_tickets()).await;
    let token = fixture.token(5, None).await;
    fixture.send(&wallet, &token).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert_eq!(outcome(&request), Ok(5));
    assert!(!request.content.is_request(), "nothing is left to approve");
    assert!(request.content.summary().starts_with("ticket received, 5 multi of http://127.0.0.1:"), "{request:?}");
    assert!(!format!("{request:?}").contains(&token.0));
    assert_eq!(fixture.held().await, 5);
    assert_eq!(fixture.own.token_state(&token).await.unwrap(), TokenState::Spent);
    let again = fixture.redeem("by the sender", &token).await;
    assert!(matches!(again, Err(TicketError::Token(TokenFault::AlreadySpent))), "{again:?}");

    // The service repeats it until it learns that it is spent.
    fixture.send(&wallet, &token).await;
    assert_eq!(wallet.next_request(QUIET).await.unwrap_err(), NoRequest);
    assert_eq!(fixture.held().await, 5);
}

#[tokio::test]
async fn ticket_of_an_unknown_service_waits_for_approval() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.stranger(Policy::silent().receiving_tickets()).await;
    let token = fixture.token(2, None).await;
    fixture.send(&wallet, &token).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert!(request.content.is_request() && request.service.is_none());
    assert_eq!(fixture.held().await, 0);
    let done = wallet.fulfil(&request).await.unwrap();
    assert_eq!((done.received.unwrap().amount, done.event), (2, None));
    assert_eq!(fixture.held().await, 2);
    assert_eq!(outcome(&wallet.requests()[0]), Ok(2));
}

#[tokio::test]
async fn invalid_ticket_is_refused_with_the_reason() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::silent().receiving_tickets()).await;
    let spent = fixture.token(2, None).await;
    fixture.redeem("first", &spent).await.unwrap();
    for (token, reason) in [(Token("cashuBnonsense".to_owned()), "not a Cashu token"), (spent, "already spent")] {
        fixture.send(&wallet, &token).await;
        let request = wallet.next_request(LONG).await.unwrap();
        assert!(outcome(&request).unwrap_err().contains(reason), "{request:?}");
    }
    assert_eq!(fixture.held().await, 0);
}

#[tokio::test]
async fn request_gets_exactly_one_token_of_the_exact_amount() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::silent().receiving_tickets()).await;
    let token = fixture.token(5, None).await;
    fixture.send(&wallet, &token).await;
    wallet.next_request(LONG).await.unwrap();

    fixture.ask(&wallet, "r1", 3).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert!(request.content.summary().starts_with("ticket request, 3 multi of http://"), "{request:?}");
    assert_eq!(wallet.fulfil(&request).await.unwrap().given.unwrap().amount, 3);
    let (id, CashuStatus::Success { token }) = fixture.reply().await else { panic!() };
    assert_eq!(id, "r1");
    // Repeated, also after a restart, it gets the same token.
    let given = Token(token.expose().to_owned());
    fixture.ask(&wallet, "r1", 3).await;
    let (_, CashuStatus::Success { token }) = fixture.reply().await else { panic!() };
    assert_eq!(token.expose(), given.0);
    wallet.fulfil(&request).await.unwrap();
    let (_, CashuStatus::Success { token }) = fixture.reply().await else { panic!() };
    assert_eq!(token.expose(), given.0);
    assert_eq!(fixture.held().await, 2);

    let listed = wallet.tickets().unwrap().given().await.unwrap();
    assert!(matches!(&listed[..], [(ticket, GivenState::Unspent)] if ticket.request.as_deref() == Some("r1")));
    assert_eq!(fixture.redeem("r1", &given).await.unwrap(), 3);
    let listed = wallet.tickets().unwrap().given().await.unwrap();
    assert!(matches!(&listed[..], [(_, GivenState::Spent)]), "{listed:?}");
    assert!(wallet.tickets().unwrap().given().await.unwrap().is_empty(), "a spent one is shown once");

    fixture.ask(&wallet, "r2", 3).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert!(wallet.fulfil(&request).await.unwrap().insufficient_funds);
    assert_eq!(fixture.reply().await, ("r2".to_owned(), CashuStatus::InsufficientFunds));
    fixture.ask(&wallet, "r3", 1).await;
    let request = wallet.next_request(LONG).await.unwrap();
    wallet.decline(&request, Some("not today")).unwrap();
    let reason = Some("not today".to_owned());
    assert_eq!(fixture.reply().await, ("r3".to_owned(), CashuStatus::Rejected { reason }));
    assert_eq!(fixture.held().await, 2);
}

#[tokio::test]
async fn policy_gives_and_receives_automatically() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::auto_approve()).await;
    let token = fixture.token(4, None).await;
    fixture.send(&wallet, &token).await;
    assert_eq!(outcome(&wallet.next_request(LONG).await.unwrap()), Ok(4));
    fixture.ask(&wallet, "yes", 4).await;
    assert!(matches!(fixture.reply().await.1, CashuStatus::Success { .. }));
    fixture.ask(&wallet, "too much", 1).await;
    assert_eq!(fixture.reply().await.1, CashuStatus::InsufficientFunds);
    wallet.set_policy(Policy::auto_decline(None));
    fixture.ask(&wallet, "no", 1).await;
    assert_eq!(fixture.reply().await.1, CashuStatus::Rejected { reason: None });
}

#[tokio::test]
async fn unreachable_mint_delays_but_loses_nothing() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::silent().receiving_tickets()).await;
    let (first, second) = (fixture.token(5, None).await, fixture.token(1, None).await);
    fixture.send(&wallet, &first).await;
    wallet.next_request(LONG).await.unwrap();
    let mint = fixture.stop_mint().await;
    fixture.send(&wallet, &second).await;
    assert_eq!(wallet.next_request(QUIET).await.unwrap_err(), NoRequest);
    fixture.start_mint(mint).await;
    // The wallet tries again without being asked to.
    assert_eq!(outcome(&wallet.next_request(LONG).await.unwrap()), Ok(1));
    assert_eq!(fixture.held().await, 6);
}

#[tokio::test]
async fn expired_request_gets_no_token() {
    let mut fixture = Fixture::new().await;
    let wallet = fixture.user(Policy::silent().receiving_tickets()).await;
    let token = fixture.token(1, None).await;
    wallet.tickets().unwrap().receive(&token).await.unwrap();
    let message = ServiceMessage::CashuRequest(CashuRequest {
        request_id: "late".to_owned(),
        mint_url: fixture.mint().url(),
        unit: UNIT.to_owned(),
        amount: 1,
        expires_at: nostr::Timestamp::now().as_secs() - 1,
    });
    fixture.service.send(&wallet.public_key(), &[wallet.public_key()], &message).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert!(matches!(wallet.fulfil(&request).await, Err(WalletError::Expired)));
    assert_eq!(fixture.held().await, 1);
}

#[tokio::test]
async fn given_ticket_can_be_taken_back_until_spent() {
    let fixture = Fixture::new().await;
    let tickets = fixture.tickets("user.db");
    assert!(matches!(tickets.give(TicketJobId([1; 32]), &exactly(1), None).await, Err(TicketsError::NameOne(_))));
    tickets.receive(&fixture.token(8, None).await).await.unwrap();
    let (first, second) = (TicketJobId([1; 32]), TicketJobId([2; 32]));
    let given = tickets.give(first, &exactly(3), None).await.unwrap();
    assert_eq!(tickets.give(first, &exactly(3), None).await.unwrap(), given, "the same id, the same token");
    let too_much = tickets.give(TicketJobId([9; 32]), &exactly(6), None).await.unwrap_err();
    assert!(too_much.is_insufficient(), "{too_much}");
    let spent = tickets.give(second, &exactly(2), None).await.unwrap();
    fixture.redeem("second", &Token(spent.token.clone().unwrap().0)).await.unwrap();

    let taken = tickets.take_back(&given.id[..8]).await.unwrap();
    assert_eq!((taken.amount, fixture.held().await), (3, 6));
    let token = Token(given.token.clone().unwrap().0);
    assert!(fixture.redeem("taken back", &token).await.is_err(), "its token is worth nothing");
    let spent = tickets.take_back(&spent.id).await.unwrap_err();
    assert!(spent.to_string().contains("already spent"), "{spent}");
    assert!(matches!(tickets.take_back(&given.id).await, Err(TicketsError::NoSuchTicket(_))));
    assert!(tickets.given().await.unwrap().is_empty());
}

#[tokio::test]
async fn two_processes_share_the_file_and_finish_each_others_jobs() {
    let mut fixture = Fixture::new().await;
    let (one, other) = (fixture.tickets("user.db"), fixture.tickets("user.db"));
    let tokens = [fixture.token(1, None).await, fixture.token(2, None).await, fixture.token(4, None).await];
    // Each handle opens the file for itself, as another program does. The same token is received once.
    let all = tokens.iter().flat_map(|token| [one.receive(token), other.receive(token)]);
    for received in futures_util::future::join_all(all).await {
        received.unwrap();
    }
    assert_eq!(fixture.held().await, 7);

    let (mut begun, what) = (Vec::new(), TicketAmount { mint_url: Some(fixture.mint().url()), ..exactly(1) });
    let what = TicketAmount { unit: Some(UNIT.to_owned()), ..what };
    for step in 0..12 {
        let token = fixture.token(16, None).await;
        let cut = std::time::Duration::from_millis(step * 4);
        let _ = tokio::time::timeout(cut, one.receive(&token)).await;
        begun.push(token);
        let id = TicketJobId::derive("given", &step.to_be_bytes());
        let _ = tokio::time::timeout(cut, other.give(id, &what, None)).await;
    }
    // A mint whose client disconnects may hold the inputs until it starts again.
    let address = fixture.stop_mint().await;
    fixture.start_mint(address).await;
    for token in begun {
        assert_eq!(other.receive(&token).await.unwrap().amount, 16);
    }
    let given = other.given().await.unwrap();
    assert!(given.iter().all(|(_, state)| *state == GivenState::Unspent), "{given:?}");
    assert_eq!(fixture.held().await + given.len() as u64, 7 + 16 * 12, "nothing is lost");
    for (ticket, _) in &given {
        other.take_back(&ticket.id).await.unwrap();
    }
    assert_eq!(fixture.held().await, 7 + 16 * 12);
    assert_eq!(fixture.mint().totals(UNIT).await.unwrap().outstanding(), 7 + 16 * 12);
}

#[tokio::test]
async fn configured_mint_token_is_sent_to_the_mint() {
    let fixture = Fixture::with(MintOptions::new().auth_token("let me in")).await;
    let tickets = fixture.tickets("user.db");
    let token = fixture.token(1, Some("let me in")).await;
    let mint = KnownMint { mint_url: format!("{}/", fixture.mint().url()), auth_token: Secret("let me in".to_owned()) };
    tickets.set_mints(&[mint]);
    assert_eq!(tickets.receive(&token).await.unwrap().amount, 1);
}
