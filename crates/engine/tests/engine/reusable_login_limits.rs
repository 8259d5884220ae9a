//! The limits of reusable logins, what is counted of them, and the logins of their pages.

use crate::common::*;

const MINUTE: Duration = Duration::from_secs(60);

/// Keys cost nothing: a flood of scans leaves room for other operations, and ends.
#[tokio::test]
async fn open_logins_are_bounded() {
    let mut usher = Running::with_options(EngineOptions { max_open_streams: 40, ..options() }).await;
    let poster = poster(&usher).await;
    let mut children = Vec::new();
    for _ in 0..3 {
        for _ in 0..10 {
            children.push(child(&usher, &poster).await);
        }
        let refused = visit(&usher, &poster, &page_secret(&poster), &[]).await;
        assert!(
            matches!(refused, Err(VisitError::NoRoom(room)) if room == NoRoom { is_of_network: false, retry_after: MINUTE / 2 })
        );
        usher.clock.turn(MINUTE * 3 / 2);
    }
    assert_eq!(state(&usher, &children[0]).await, None, "it has made room");
    let (honest, left) = (children.pop().unwrap(), children.pop().unwrap());
    // A quarter of `max_open_streams` may be asked: the user who came first makes room, as if their login had ended.
    let mut challenges = Vec::new();
    for n in 1..=12 {
        challenges.push(scan(&mut usher, n, n).await);
        usher.clock.turn(Duration::from_millis(1));
    }
    scan_page(&usher, &honest, 31, 31).await;
    let challenge = challenge_for(&mut usher, 31).await;
    usher.receive(32, &user(31), approval(&challenge)).await;
    events(&usher, poster.stream_id, 14).await;
    for (n, challenge) in (1..).zip(&challenges[..4]) {
        usher.receive(40 + n, &user(n), approval(challenge)).await;
    }
    let (_, last) = events(&usher, poster.stream_id, 15).await.pop().unwrap();
    assert_eq!(last["main_key"], user(4).public_key().to_hex(), "the first three have made room");
    let listed = usher.engine.handshakes().list(&Requester::Service, None, 9).await.unwrap().items;
    assert_eq!((listed[0].accepted, listed[0].refused), (12, 0));
    // This user needs no room.
    decline(&usher.engine, &left).await.unwrap();
    for _ in 0..15 {
        usher.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    }
}

/// Logins that browsers begin on the page count as scans of the URL, with whatever the user has proven the key.
#[tokio::test]
async fn logins_on_the_page_are_limited() {
    let mut usher = Running::new().await;
    let poster = poster(&usher).await;
    let proven = async |usher: &Running, n: u8| {
        let child = child(usher, &poster).await;
        let event = sign(usher, &child, n).await;
        let proven = prove(&usher.engine, &child, &event).await;
        (child, proven)
    };
    for _ in 0..2 {
        assert!(proven(&usher, 1).await.1.is_ok());
    }
    let third = child(&usher, &poster).await;
    scan_page(&usher, &third, 1, 1).await;
    challenge_for(&mut usher, 1).await;
    let (visit_4, refused) = proven(&usher, 1).await;
    assert!(matches!(refused, Err(ProveError::TooOften)), "{refused:?}");
    assert_eq!(state(&usher, &visit_4).await, Some(LoginState::Waiting), "another user may log in there");
    // A wallet is refused in the same way, and another key is not.
    scan_page(&usher, &visit_4, 1, 2).await;
    let refused_by = |usher: &Running, limit: ScanLimit| usher.engine.scan_metrics().refused_by(limit);
    until("it is refused", async || refused_by(&usher, ScanLimit::Author) == 2).await;
    assert_eq!(state(&usher, &visit_4).await, Some(LoginState::Waiting));
    scan_page(&usher, &visit_4, 2, 3).await;
    challenge_for(&mut usher, 2).await;
    // A scan of the URL is none of these.
    scan(&mut usher, 1, 4).await;
    let listed = usher.engine.handshakes().list(&Requester::Service, None, 9).await.unwrap().items;
    assert_eq!((listed[0].accepted, listed[0].refused), (1, 2));
    usher.clock.turn(MINUTE);
    assert!(proven(&usher, 1).await.1.is_ok());
    assert_eq!(usher.engine.scan_metrics().accepted, 6);
}

/// A replayed old event has no effect, nor does a second key on the same page.
#[tokio::test]
async fn what_is_accepted_is_what_happened() {
    let mut usher = Running::new().await;
    let poster = poster(&usher).await;
    let asked = scan(&mut usher, 1, 1).await;
    usher.receive(2, &user(1), approval(&asked)).await;
    events(&usher, poster.stream_id, 2).await;

    let child = child(&usher, &poster).await;
    let mut signed = Vec::new();
    for n in 2..10 {
        signed.push(sign(&usher, &child, n).await);
    }
    let mut proofs = tokio::task::JoinSet::new();
    for event in signed {
        let (engine, child) = (usher.engine.clone(), child.clone());
        proofs.spawn(async move { prove(&engine, &child, &event).await });
    }
    let proven = proofs.join_all().await;
    assert_eq!(proven.iter().filter(|proven| proven.is_ok()).count(), 1, "{proven:?}");
    assert!(
        proven.iter().all(|proven| matches!(proven, Ok(()) | Err(ProveError::Page(LoginPageError::Ended)))),
        "{proven:?}"
    );
    assert_eq!(events(&usher, poster.stream_id, 4).await.len(), 4);

    // After a restart nothing in memory knows the event.
    let mut usher = usher.restart(MINUTE * 2).await;
    usher.receive(1, &user(1), handshake("poster", &[])).await;
    until("it has arrived", async || usher.engine.metrics().matched == 1).await;
    usher.clock.turn(MINUTE);
    scan(&mut usher, 1, 3).await;
    assert_eq!(events(&usher, poster.stream_id, 5).await.len(), 5);
}

/// Anybody can begin one and end it, as often as they like: nothing is left of it. What a crash leaves goes with the cleanup.
#[tokio::test]
async fn logins_that_ended_unused_leave_nothing() {
    let usher = Running::new().await;
    let poster = poster(&usher).await;
    let begin = async |usher: &Running, is_declined: bool| {
        let child = child(usher, &poster).await;
        if is_declined {
            assert_eq!(decline(&usher.engine, &child).await.unwrap(), LoginState::Declined);
        }
        child.login
    };
    let mut ended = Vec::new();
    for n in 0..60 {
        ended.push(begin(&usher, n < 40).await);
    }
    usher.clock.turn(MINUTE * 11);
    let is_gone = async |usher: &Running, id| usher.store.operation(id).await.unwrap().is_none();
    for id in ended {
        usher.until(Duration::ZERO, "it is still there", async || is_gone(&usher, id).await).await;
    }
    usher.faults.fail(&["remove_without_events"], usize::MAX);
    let left = begin(&usher, true).await;
    let usher = usher.restart(MINUTE * 61).await;
    usher.until(MINUTE, "it is still there", async || is_gone(&usher, left).await).await;
}

#[tokio::test]
async fn browser_that_comes_again_gets_the_login_it_has() {
    let mut usher = Running::new().await;
    let (poster, other) =
        (poster(&usher).await, usher.engine.logins().start(&Requester::Service, request("door"), None).await.unwrap());
    let first = child(&usher, &poster).await;
    let (browser, time_left) = first.new_browser.clone().unwrap();
    assert_eq!(time_left, Duration::from_secs(600));
    let come = async |at: &LoginStarted, cookies: &[(StreamId, String)]| {
        visit(&usher, at, &page_secret(at), cookies).await.unwrap()
    };
    let own = [(first.login, browser.clone())];
    let again = come(&poster, &own).await;
    assert_eq!((again.login, again.new_browser), (first.login, None));
    let stolen = [(first.login, "another".to_owned())];
    assert_ne!(come(&poster, &stolen).await.login, first.login, "only its browser");
    assert_ne!(come(&other, &own).await.login, first.login, "a login of another poster");
    let single = usher.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    assert_ne!(come(&poster, &[(single.stream_id, browser)]).await.login, single.stream_id);
    for secret in ["", "x", &page_secret(&other)] {
        let refused = visit(&usher, &poster, secret, &own).await;
        assert!(matches!(refused, Err(VisitError::NotFound)), "{secret}");
    }
    // Somebody has begun there: the next user at this browser gets a login of their own.
    scan_page(&usher, &first, 1, 1).await;
    challenge_for(&mut usher, 1).await;
    let next = visit(&usher, &poster, &page_secret(&poster), &own).await.unwrap();
    assert_ne!(next.login, first.login);
}
