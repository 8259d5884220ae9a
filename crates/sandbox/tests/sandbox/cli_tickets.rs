//! `usher wallet tickets`, `give`, `take`, `take-back`, `mint-token`, and tickets in `approve` and `run`.

use usher_mint::MintOptions;
use usher_protocol::message::{CashuRequest, CashuStatus, ServiceMessage, WalletMessage};
use usher_sandbox::cli::CliError;
use usher_sandbox::wallet::TicketsError;

use crate::cli::{file, run, start, user_of};
use crate::tickets::Fixture;

#[tokio::test]
async fn tickets_can_be_taken_listed_given_and_taken_back() {
    let fixture = Fixture::with(MintOptions::new()).await;
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    assert_eq!(run(&folder, &["tickets"]).await.unwrap().text(), "no tickets\n");
    let url = fixture.mint().url();
    let token = fixture.token(5, None).await;
    assert_eq!(run(&folder, &["take", &token.0]).await.unwrap().text(), format!("took 5 multi of {url}\n"));
    let again = run(&folder, &["take", &token.0]).await.unwrap();
    assert_eq!(again.text(), format!("took 5 multi of {url} before; nothing has changed\n"));
    assert_eq!(run(&folder, &["tickets"]).await.unwrap().text(), format!("5 multi of {url}\n"));

    let given = run(&folder, &["give", "2"]).await.unwrap();
    let text = given.text().trim().to_owned();
    assert!(text.starts_with("cashuB"), "{text}");
    let listed = run(&folder, &["--json", "tickets"]).await.unwrap().json();
    assert_eq!((&listed[0]["amount"], &listed[0]["unit"]), (&3.into(), &"multi".into()));
    assert_eq!((&listed[1]["event"], &listed[1]["state"]), (&"given".into(), &"unspent".into()));
    let id = listed[1]["id"].as_str().unwrap();
    assert!(!listed[1].to_string().contains(&text), "a list shows no token");
    let shown = run(&folder, &["tickets"]).await.unwrap().text();
    assert!(
        shown.contains(&format!("{} 2 multi of {url}, given ", &id[..8])) && shown.contains("not spent"),
        "{shown}"
    );
    let back = run(&folder, &["take-back", &id[..8]]).await.unwrap();
    assert_eq!(back.text(), format!("took back 2 multi of {url}\n"));
    assert_eq!(run(&folder, &["tickets"]).await.unwrap().text(), format!("5 multi of {url}\n"));

    for wrong in [&["give", "6"][..], &["give", "1", "--unit", "sat"], &["take", "cashuB"], &["take-back", "ff"]] {
        let error = run(&folder, wrong).await.err().unwrap();
        assert!(matches!(error, CliError::Tickets(_)), "{wrong:?}: {error}");
        assert!(!format!("{error:?} {error}").contains(&text));
    }
    assert_eq!(run(&folder, &["tickets"]).await.unwrap().text(), format!("5 multi of {url}\n"));
    #[cfg(unix)]
    for name in ["w.json", "w.tickets.db"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its owner alone");
    }
}

#[tokio::test]
async fn mint_token_is_stored_but_not_shown() {
    let fixture = Fixture::with(MintOptions::new().auth_token("let me in")).await;
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    for token in ["an old one", "let me in"] {
        let stored = run(&folder, &["mint-token", &format!("{}/", fixture.mint().url()), token]).await.unwrap();
        assert!(!stored.text().contains(token));
    }
    assert!(!format!("{:?}", file(&folder)).contains("let me in"));
    let token = fixture.token(5, Some("let me in")).await;
    let taken = run(&folder, &["take", &token.0]).await.unwrap();
    assert_eq!(taken.text(), format!("took 5 multi of {}\n", fixture.mint().url()));
}

#[tokio::test]
async fn ticket_requests_are_approved_and_tickets_arrive_during_run() {
    let mut fixture = Fixture::with(MintOptions::new()).await;
    let folder = user_of(&mut fixture.service).await;
    let key = file(&folder).identity.public_key();

    let running = start(&folder, &["--json", "run"]);
    running.lines.send("nonsense".to_owned()).await.unwrap();
    let token = fixture.token(3, None).await;
    let message = ServiceMessage::CashuDirect(usher_protocol::message::CashuDirect { token: token.0.into() });
    while !running.output.text().contains("ticket received") {
        // As a service does, until the token is spent.
        fixture.service.send(&key, &[key], &message).await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let lines = running.output.json();
    let received = lines.iter().find(|line| line["asked"] == "ticket received").unwrap();
    assert_eq!((&received["amount"], &received["unit"]), (&3.into(), &"multi".into()));
    running.lines.send("give nothing".to_owned()).await.unwrap();
    running.lines.send("tickets".to_owned()).await.unwrap();
    while !running.output.text().contains("\"event\":\"tickets\"") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    running.lines.send("quit".to_owned()).await.unwrap();
    running.done.await.unwrap().unwrap();

    let approving = start(&folder, &["approve"]);
    let status = loop {
        let request = ServiceMessage::CashuRequest(CashuRequest {
            request_id: "ticket, please".to_owned(),
            mint_url: fixture.mint().url(),
            unit: "multi".to_owned(),
            amount: 2,
            expires_at: nostr::Timestamp::now().as_secs() + 300,
        });
        fixture.service.send(&key, &[key], &request).await;
        let wait = std::time::Duration::from_secs(1);
        if let Ok((_, WalletMessage::CashuResponse(response))) =
            tokio::time::timeout(wait, fixture.service.next()).await
        {
            break response.status;
        }
    };
    assert!(matches!(status, CashuStatus::Success { .. }));
    approving.done.await.unwrap().unwrap();
    assert!(approving.output.text().contains(": gave 2 multi of "), "{}", approving.output.text());
    let tickets = file(&folder).tickets();
    assert_eq!(tickets.balances().await.unwrap()[0].amount, 1);
    assert!(matches!(tickets.take_back("none").await, Err(TicketsError::NoSuchTicket(_))));
}
