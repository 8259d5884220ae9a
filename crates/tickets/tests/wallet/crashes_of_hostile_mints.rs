//! The process ends while a mint holds tokens as pending, or while own proofs that it calls spent are set aside or come back.

use std::time::Duration;

use usher_engine::ports::{TicketError, TicketStore as _, TicketWallet as _};

use crate::fixture::{alone, balance, faulty_world, id, own_points, points, settled, without_dleq};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_between_setting_aside_and_coming_back() {
    let Some(()) = alone("crashes_of_hostile_mints::nothing_is_lost_between_setting_aside_and_coming_back") else {
        return;
    };
    let (world, proxy) = faulty_world().await;
    let mut wallet = world.wallet().await;
    world.fund(&wallet, "multi", 63).await;
    for edge in [
        "tickets-after-refused",
        "tickets-before-set-aside",
        "tickets-after-set-aside",
        "tickets-before-return",
        "tickets-after-return",
    ] {
        // The mint falsely calls the largest proof of 63 spent.
        proxy.hold(own_points(&world, "multi").await.pop(), "SPENT");
        let (job, terms) = (id(), world.withdraw_terms("multi", 40));
        fail::cfg(edge, "1*return").unwrap();
        wallet.withdraw(job, &terms, None).await.unwrap_err();
        drop(wallet);
        wallet = world.wallet().await;
        settled(&wallet).await;
        assert_eq!(balance(&wallet).await, (31, 32), "{edge}");
        proxy.heal();
        let _ = wallet.check_set_aside().await.unwrap();
        drop(wallet);
        fail::remove(edge);
        wallet = world.wallet().await;
        wallet.check_set_aside().await.unwrap();
        assert_eq!(balance(&wallet).await, (63, 0), "{edge}");
        // The same id is another attempt, and the mint agrees that they are unspent.
        let out = wallet.withdraw(job, &terms, None).await.unwrap();
        world.redeem(&wallet, &out, "multi", 40).await;
        assert_eq!(world.totals("multi").await.outstanding(), 63, "{edge}");
    }
    assert!(world.store.set_aside_proofs(None, 9).await.unwrap().is_empty());
}

/// The process ends around the request; then the mint says that the inputs are pending, and the process ends again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_with_pending_inputs_are_finished_after_restarts() {
    let Some(()) = alone("crashes_of_hostile_mints::jobs_with_pending_inputs_are_finished_after_restarts") else {
        return;
    };
    let (world, proxy) = faulty_world().await;
    let mut wallet = world.wallet().await;
    world.fund(&wallet, "multi", 100).await;
    for edge in ["tickets-after-start", "tickets-before-swap", "tickets-after-swap", "tickets-before-end"] {
        let before = balance(&wallet).await.0;
        let token = world.token(&wallet, "multi", 7).await;
        let proven = world.token(&wallet, "multi", 5).await;
        let (redeem, verify, withdraw) = (id(), id(), id());
        let received = world.receive_terms(&token, "multi", 7);
        let verified = world.receive_terms(&without_dleq(&proven), "multi", 5);
        let withdrawn = world.withdraw_terms("multi", 3);
        let own = own_points(&world, "multi").await;
        fail::cfg(edge, "return").unwrap();
        wallet.redeem(redeem, &received, None).await.unwrap_err();
        wallet.verify(verify, &verified).await.unwrap_err();
        wallet.withdraw(withdraw, &withdrawn, None).await.unwrap_err();
        drop(wallet);
        fail::remove(edge);
        proxy.hold(points(&token).into_iter().chain(points(&proven)).chain(own), "PENDING");
        for _ in 0..2 {
            wallet = world.wallet().await;
            let again = wallet.redeem(redeem, &received, None).await;
            assert!(matches!(again, Err(TicketError::Pending)), "{edge} {again:?}");
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(wallet.unfinished_jobs(), 3, "{edge}");
            drop(wallet);
        }
        wallet = world.wallet().await;
        proxy.heal();
        settled(&wallet).await;
        assert_eq!(wallet.redeem(redeem, &received, None).await.unwrap(), 7, "{edge}");
        let out = [
            wallet.verify(verify, &verified).await.unwrap(),
            wallet.withdraw(withdraw, &withdrawn, None).await.unwrap(),
        ];
        assert_eq!(balance(&wallet).await, (before + 7 - 3, 0), "{edge}");
        for (token, amount) in out.iter().zip([5, 3]) {
            world.redeem(&wallet, token, "multi", amount).await;
        }
        assert_eq!(world.totals("multi").await.outstanding(), before + 7 + 5, "{edge}");
    }
}
