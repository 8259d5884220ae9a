//! Reusable logins: many users at one URL, each with an outcome of their own on its stream, also across crashes.

use usher_testing::ports::{COMMITS, CREATIONS};

use crate::common::*;

#[tokio::test]
async fn static_token_is_one_login_or_handshake_and_contradictions_are_refused() {
    let pages = PageRules { return_urls: vec!["https://app.example/".parse().unwrap()], ..PageRules::default() };
    let usher = Running::with_options(EngineOptions { pages, ..options() }).await;
    let login = async |static_token: &str, return_url: Option<&str>| {
        let return_url = return_url.map(str::to_owned);
        usher
            .engine
            .logins()
            .start(&Requester::Service, LoginRequest { return_url, ..request(static_token) }, None)
            .await
    };
    let handshake = async |static_token: &str| {
        usher.engine.handshakes().start(&Requester::Service, reusable(static_token), None).await
    };
    let field = |error: StartError| match error {
        StartError::Invalid(fields) => fields[0].pointer.clone(),
        other => other.to_string(),
    };
    let first = login("poster", Some("https://app.example/in")).await.unwrap();
    for same in [Some("https://app.example/in"), None] {
        let again = login("poster", same).await.unwrap();
        assert_eq!(
            (again.stream_id, again.url, again.page_url),
            (first.stream_id, first.url.clone(), first.page_url.clone())
        );
    }
    login("plain", None).await.unwrap();
    for (static_token, other) in [
        ("poster", "https://app.example/out"),
        ("poster", "https://evil.example/"),
        ("new", "https://evil.example/"),
        ("plain", "https://app.example/in"),
    ] {
        assert_eq!(field(login(static_token, Some(other)).await.unwrap_err()), "/return_url");
    }
    let single = usher.handshake().await;
    let of_a_page = usher.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    handshake("door").await.unwrap();
    login("a/b", None).await.unwrap();
    handshake("c/d").await.unwrap();
    login(&"y".repeat(128), None).await.unwrap();
    handshake(&"x".repeat(128)).await.unwrap();
    for invalid in ["", " ", "a b", "a\n", "ä", &"x".repeat(129), &token(&single.url), &token(&of_a_page.url)] {
        assert_eq!(field(login(invalid, None).await.unwrap_err()), "/static_token", "{invalid}");
        assert_eq!(field(handshake(invalid).await.unwrap_err()), "/static_token", "{invalid}");
    }
    // What is taken by the other, also in another spelling.
    assert_eq!(field(handshake("poster").await.unwrap_err()), "/static_token");
    assert_eq!(field(handshake("a%2Fb").await.unwrap_err()), "/static_token");
    assert_eq!(field(login("door", None).await.unwrap_err()), "/static_token");
    assert_eq!(field(login("c%2Fd", None).await.unwrap_err()), "/static_token");
    let contradiction = KeyHandshakeRequest { no_request: Some(true), ..reusable("door") };
    let refused = usher.engine.handshakes().start(&Requester::Service, contradiction, None).await.unwrap_err();
    assert_eq!(field(refused), "/no_request");
}

/// The process dies after a commit, before anybody has learned of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_told_twice_when_the_service_dies_after_a_commit() {
    let first = Running::new().await;
    let login = poster(&first).await;
    first.faults.hold_results(COMMITS);
    first.receive(1, &user(1), handshake("poster", &[])).await;
    first.faults.held(1).await;

    let mut second = first.beside().await;
    // The wallet's handshake again, as a relay may deliver it.
    second.receive(1, &user(1), handshake("poster", &[])).await;
    let asked = challenge_for(&mut second, 1).await;
    assert_eq!(events(&second, login.stream_id, 1).await, [named(1)]);
    second.faults.hold_results(COMMITS);
    second.receive(2, &user(1), approval(&asked)).await;
    second.faults.held(1).await;

    let third = second.beside().await;
    third.receive(2, &user(1), approval(&asked)).await;
    third.receive(3, &user(1), approval(&asked)).await;
    let seen = child(&third, &login).await;
    assert_eq!(state(&third, &seen).await, Some(LoginState::Waiting));
    assert_eq!(events(&third, login.stream_id, 2).await, [named(1), approved(1)]);
    assert_eq!(third.engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items[0].accepted, 1);
}

/// Waits for the end of a login: whether it has a page then.
async fn until_over(usher: &Running, child: &ChildLogin, is_left: bool) {
    let end = is_left.then_some(LoginState::Expired);
    usher.until(Duration::ZERO, "the end", async || state(usher, child).await == end).await;
}

/// Also those of before a restart.
#[tokio::test]
async fn closed_login_ends_what_is_under_way_silently() {
    for is_restarted in [false, true] {
        let mut usher = Running::new().await;
        let old = poster(&usher).await;
        let asked = scan(&mut usher, 1, 1).await;
        let (idle, scanned) = (child(&usher, &old).await, child(&usher, &old).await);
        let idle_url = wallet_url(&usher, &idle).await;
        scan_page(&usher, &scanned, 2, 2).await;
        let asked_too = challenge_for(&mut usher, 2).await;
        events(&usher, old.stream_id, 2).await;
        if is_restarted {
            usher = usher.restart(Duration::ZERO).await;
        }
        usher.engine.handshakes().close(&Requester::Service, old.stream_id).await.unwrap();
        for (child, is_left) in [(&idle, false), (&scanned, true)] {
            until_over(&usher, child, is_left).await;
            let refused = decline(&usher.engine, child).await;
            assert!(matches!(refused, Err(LoginPageError::Ended | LoginPageError::NotFound)));
        }
        let refused = visit(&usher, &old, &page_secret(&old), &[]).await;
        assert!(matches!(refused, Err(VisitError::Closed)));
        let opened = usher.engine.logins().open(old.stream_id, &page_secret(&old), None, true).await.unwrap();
        assert!(matches!(opened, OpenedLogin::Closed));
        // The reserved stream alone.
        until("all logins are over", async || usher.engine.open_streams() == 1).await;

        let new = poster(&usher).await;
        assert!(new.stream_id != old.stream_id && new.url != old.url && new.page_url != old.page_url);
        usher.receive(3, &user(1), approval(&asked)).await;
        usher.receive(4, &user(2), approval(&asked_too)).await;
        usher.receive(5, &user(3), handshake(&token(&idle_url), &[])).await;
        usher.receive(6, &user(4), handshake("poster", &[])).await;
        usher.receive(7, &user(5), handshake(&token(&new.url), &[])).await;
        assert_eq!(events(&usher, new.stream_id, 1).await, [named(5)]);
        let page = usher.read(old.stream_id, 0).await;
        assert!(page.done && page.events.len() == 2);
    }
}

/// The scan is committed, and the page's request comes before anybody has learned of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_who_begins_twice_at_the_same_moment_has_one_outcome() {
    let usher = Running::new().await;
    let store = usher.faults.clone();
    let poster = poster(&usher).await;
    let seen = child(&usher, &poster).await;
    let proof = sign(&usher, &seen, 1).await;
    store.hold_results(CREATIONS);
    usher.receive(1, &user(1), handshake("poster", &[])).await;
    store.held(1).await;
    prove(&usher.engine, &seen, &proof).await.unwrap();
    store.work();
    until("no login is open", async || usher.engine.open_streams() == 2).await;
    usher.clock.turn(Duration::from_secs(900));
    a_moment().await;
    let told = events(&usher, poster.stream_id, 3).await;
    let by_extension = json!({ "status": "approved", "main_key": key(1), "method": "extension" });
    assert_eq!(told, [named(1), named(1), ("StatusUpdate".to_owned(), by_extension)]);
}

/// The URL is closed while a reply is being committed: the login has not happened unless the app can read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_approved_after_the_close() {
    let mut usher = Running::new().await;
    let store = usher.faults.clone();
    let poster = poster(&usher).await;
    let (scanned, signing, declining) =
        (child(&usher, &poster).await, child(&usher, &poster).await, child(&usher, &poster).await);
    let mut asked = Vec::new();
    for (n, child) in [(1, &scanned), (2, &declining)] {
        scan_page(&usher, child, n, n).await;
        asked.push(challenge_for(&mut usher, n).await);
    }
    events(&usher, poster.stream_id, 2).await;
    let proof = sign(&usher, &signing, 3).await;

    store.hold(&["operation_with_key"]);
    usher.receive(4, &user(1), approval(&asked[0])).await;
    let (engine, signs) = (usher.engine.clone(), signing.clone());
    let signing = tokio::spawn(async move { prove(&engine, &signs, &proof).await });
    let (engine, declines) = (usher.engine.clone(), declining.clone());
    let declining = tokio::spawn(async move { decline(&engine, &declines).await.map(drop) });
    store.held(3).await;
    usher.engine.handshakes().close(&Requester::Service, poster.stream_id).await.unwrap();
    store.work();
    let (signed, declined) = (signing.await.unwrap(), declining.await.unwrap());
    let is_over = |refused: &LoginPageError| matches!(refused, LoginPageError::Ended | LoginPageError::NotFound);
    assert!(matches!(&signed, Err(ProveError::Page(refused)) if is_over(refused)), "{signed:?}");
    assert!(declined.as_ref().is_err_and(is_over), "{declined:?}");
    until("all logins are over", async || usher.engine.open_streams() == 1).await;
    assert_eq!(state(&usher, &scanned).await, Some(LoginState::Expired));
    let page = usher.read(poster.stream_id, 0).await;
    assert!(page.done);
    assert_eq!(page.events.len(), 2, "nothing but the two scans");
    let metrics = usher.engine.metrics();
    let login = metrics.operations.iter().find(|operations| operations.kind.as_str() == "login").unwrap();
    let finished: Vec<_> = login.finished.iter().filter(|(_, count)| *count > 0).collect();
    assert!(matches!(finished[..], [(outcome, 3)] if outcome.as_str() == "timeout"), "{finished:?}");
}
