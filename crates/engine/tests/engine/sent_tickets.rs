//! Tickets that are sent to users, and reclaimed.

use usher_testing::ports::{MINT, token};

use crate::common::*;
use crate::tickets::{SECOND, Service, keyed, ours};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_token_goes_to_one_user() {
    let service = Service::start().await;
    let stream = service.send(1, &ours()).await.unwrap();
    assert_eq!(service.send(1, &ours()).await.unwrap(), stream);
    let Err(StartError::Invalid(errors)) = service.send(2, &ours()).await else { panic!("it was sent") };
    assert_eq!(errors[0].pointer, "/token");
    assert!(errors[0].detail.contains("another user"), "{errors:?}");
    for bad in [Token("nonsense".to_owned()), token(MINT, "multi", 3, &"x".repeat(40_001))] {
        let Err(StartError::Invalid(errors)) = service.send(3, &bad).await else { panic!("it was sent") };
        assert_eq!(errors[0].pointer, "/token");
    }
    let other = api_key(1, |terms| terms.own_streams_only = true);
    let request = SendTicket { main_key: user(1).public_key(), subkeys: Vec::new(), token: ours(), reference: None };
    let hidden = service.usher.engine.tickets().send(&other, request, None).await;
    assert!(matches!(hidden, Err(StartError::Invalid(_))), "{hidden:?}");
    // Once it has expired it can be sent again, to anybody.
    service.usher.clock.turn(7 * DAY);
    assert_eq!(service.last(stream, 1).await["status"], "timeout");
    let again = service.send(2, &ours()).await.unwrap();
    assert_ne!(again, stream);
    until("it is sent", async || service.tickets.checks() > 0).await;
    let outgoing = service.outgoing().await;
    assert_eq!(outgoing.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [again]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unclaimed_ticket_outlives_every_retention_and_can_be_reclaimed() {
    let mut service = Service::start().await;
    let stream = service.send(1, &ours()).await.unwrap();
    service.usher.next_message().await;
    service.usher.clock.turn(7 * DAY);
    assert_eq!(service.last(stream, 1).await["status"], "timeout");
    let service = service.restart(20 * DAY).await;
    for _ in 0..20 {
        service.usher.clock.turn(20 * DAY);
        a_moment().await;
    }
    let service = service.restart(SECOND).await;
    assert_eq!(service.outgoing().await, [(stream, "timeout".to_owned())]);
    assert_eq!(service.last(stream, 1).await["status"], "timeout");
    for _ in 0..2 {
        assert_eq!(
            service.usher.engine.tickets().reclaim(&Requester::Service, stream, None, keyed(1)).await.unwrap(),
            2
        );
    }
    assert_eq!((service.tickets.balance(), service.outgoing().await), (2, Vec::new()));
    assert!(service.usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap().is_some());
    // Then its retention begins.
    for _ in 0..3 {
        service.usher.clock.turn(20 * DAY);
        a_moment().await;
    }
    let missing = service.usher.engine.tickets().reclaim(&Requester::Service, stream, None, None).await;
    assert!(matches!(missing, Err(TicketCallError::NotFound)), "{missing:?}");
}

/// A mint says once that a token is spent, which is not: before it was sent, or when it is reclaimed. The token is not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_the_mint_falsely_calls_spent_can_be_reclaimed() {
    let mut service = Service::start().await;
    let engine = service.usher.engine.clone();
    let reclaim = |stream| engine.tickets().reclaim(&Requester::Service, stream, None, None);
    service.tickets.spend(&ours());
    let stream = service.send(1, &ours()).await.unwrap();
    assert_eq!(service.last(stream, 1).await["reason"], "the token was spent before it was sent");
    assert_eq!(service.outgoing().await, []);
    service.tickets.unspend(&ours());
    // While another delivery has the token, it is that one's.
    let again = service.send(1, &ours()).await.unwrap();
    service.usher.next_message().await;
    let refused = reclaim(stream).await;
    assert!(
        matches!(refused, Err(TicketCallError::Ticket(TicketError::Token(TokenFault::AlreadySpent)))),
        "{refused:?}"
    );
    service.tickets.spend(&ours());
    let refused = reclaim(again).await;
    assert!(
        matches!(refused, Err(TicketCallError::Ticket(TicketError::Token(TokenFault::AlreadySpent)))),
        "{refused:?}"
    );
    assert_eq!(service.last(again, 1).await["status"], "success");
    service.tickets.unspend(&ours());
    drop(engine);
    let service = service.restart(SECOND).await;
    for _ in 0..2 {
        assert_eq!(
            service.usher.engine.tickets().reclaim(&Requester::Service, stream, None, None).await.unwrap(),
            2,
            "once"
        );
    }
    assert_eq!(service.tickets.balance(), 2);
}
