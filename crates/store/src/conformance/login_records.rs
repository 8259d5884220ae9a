//! How logins ended.

use usher_engine::ports::{Commit, LoginFilter, LoginPosition, LoginRecord, LoginRecordStatus, LoginSubject};
use usher_engine::{Origin, UnixMillis};

use super::{FullStore, commit_done, create, ended_login, id, public_key};

async fn end(store: &dyn FullStore, number: u64, at: u64, record: LoginRecord) {
    let (at, origin) = (UnixMillis(at), Some(Origin(7)));
    commit_done(store, Commit { at, origin, login_record: Some(record), finished: true, ..create(id(number)) }).await;
}

async fn listed(store: &dyn FullStore, filter: LoginFilter, after: Option<LoginPosition>, most: usize) -> Vec<u64> {
    let page = store.login_records(filter, after, most).await.unwrap();
    page.found.iter().map(|login| (1..10).find(|n| id(*n) == login.position.1).unwrap()).collect()
}

/// With its parts, page by page.
pub async fn logins_are_listed_from_the_last_by_user_stream_and_time(store: &dyn FullStore) {
    let whole = LoginRecord {
        reusable: Some(id(100)),
        app: Some("Gitea \0".to_owned()),
        reason: Some("no \u{1F511}".to_owned()),
        ..ended_login(1, LoginRecordStatus::Declined)
    };
    let nobody = LoginRecord { method: None, main_key: None, ..ended_login(9, LoginRecordStatus::Timeout) };
    end(store, 1, 10, whole.clone()).await;
    end(store, 2, 30, ended_login(1, LoginRecordStatus::Approved)).await;
    end(store, 3, 20, nobody.clone()).await;
    end(store, 4, 20, ended_login(2, LoginRecordStatus::Error)).await;
    commit_done(store, create(id(5))).await;

    let all = LoginFilter::default();
    assert_eq!(listed(store, all, None, 9).await, [2, 4, 3, 1]);
    assert_eq!(listed(store, all, None, 2).await, [2, 4]);
    assert_eq!(listed(store, all, Some((UnixMillis(20), id(4))), 9).await, [3, 1]);
    let of = |of| LoginFilter { of: Some(of), ..all };
    assert_eq!(listed(store, of(LoginSubject::User(public_key(1))), None, 9).await, [2, 1]);
    assert_eq!(listed(store, of(LoginSubject::Stream(id(100))), None, 9).await, [1]);
    assert_eq!(listed(store, of(LoginSubject::Stream(id(3))), None, 9).await, [3]);
    assert_eq!(listed(store, of(LoginSubject::Stream(id(1))), None, 9).await, Vec::<u64>::new(), "elsewhere");
    // Of one subject, a page is what fits among the next.
    let of_user = of(LoginSubject::User(public_key(1)));
    let mut after = None;
    for (fits, is_last) in [(vec![2], false), (vec![1], false), (vec![], true)] {
        assert_eq!(listed(store, of_user, after, 2).await, fits);
        after = store.login_records(of_user, after, 2).await.unwrap().next;
        assert_eq!(after.is_none(), is_last);
    }
    let between = LoginFilter { from: Some(UnixMillis(20)), to: Some(UnixMillis(30)), of: None };
    assert_eq!(listed(store, between, None, 9).await, [4, 3]);

    let found = store.login_records(all, Some((UnixMillis(20), id(4))), 9).await.unwrap().found;
    assert_eq!((&found[0].record, found[0].stream_id, found[0].origin), (&nobody, id(3), Some(Origin(7))));
    assert_eq!((&found[1].record, found[1].stream_id), (&whole, id(100)));
}

/// The sums stay.
pub async fn old_records_of_logins_are_removed_in_batches(store: &dyn FullStore) {
    for n in 1..=4 {
        end(store, n, n * 10, ended_login(n, LoginRecordStatus::Approved)).await;
    }
    for (removed, left) in [(2, vec![4, 3]), (1, vec![4]), (0, vec![4])] {
        assert_eq!(store.forget_login_records(UnixMillis(40), 2).await.unwrap(), removed);
        assert_eq!(listed(store, LoginFilter::default(), None, 9).await, left);
    }
    assert_eq!(store.hourly_sums(0, 1).await.unwrap()[0].logins, 4);
}
