use tokio_util::sync::CancellationToken;
use usher_protocol::Keys;

use super::*;
use crate::identity::Identity;
use crate::options::RelayOptions;
use crate::relay_status::Origin;

const NOW: UnixMillis = UnixMillis(1_000_000);
const LATER: UnixMillis = UnixMillis(1_060_000);
const GRACE: Duration = Duration::from_secs(30);

struct Fixture {
    relays_in_use: RelaysInUse,
    options: RelayOptions,
    stop: CancellationToken,
}

impl Fixture {
    fn new(per_user: usize, in_all: usize) -> Self {
        Self {
            relays_in_use: RelaysInUse::new(Bounds { per_user, per_host: 3, in_all }),
            options: RelayOptions::new(Identity::of_main_key(Keys::generate()), Vec::new()),
            stop: CancellationToken::new(),
        }
    }

    fn configure(&mut self, name: &str) -> Arc<RelayHandle> {
        let handle = Arc::new(RelayHandle::new(address(name), Origin::Configured, &self.options, &self.stop));
        assert!(self.relays_in_use.add(&handle));
        handle
    }

    fn use_for(&mut self, user: PublicKey, names: &[&str], until: UnixMillis, now: UnixMillis) -> Used {
        let wanted = names.iter().map(|name| address(name)).collect();
        let (options, stop) = (&self.options, &self.stop);
        let open = |address| Arc::new(RelayHandle::new(address, Origin::User, options, stop));
        self.relays_in_use.use_for(user, wanted, until, now, open)
    }

    fn open(&self) -> Vec<String> {
        let mut open: Vec<_> = self.relays_in_use.of_users().iter().map(|handle| name_of(handle)).collect();
        open.sort();
        open
    }
}

/// `a` is a relay of a host of its own, `a/x` another one at the same host.
fn address(name: &str) -> RelayAddress {
    let (host, path) = name.split_once('/').map_or((name, String::new()), |(host, path)| (host, format!("/{path}")));
    RelayAddress::parse(&format!("wss://{host}.example{path}")).unwrap()
}

fn name_of(handle: &RelayHandle) -> String {
    handle.address.as_str().trim_start_matches("wss://").replace(".example", "")
}

fn names(handles: &[Arc<RelayHandle>]) -> Vec<String> {
    handles.iter().map(|handle| name_of(handle)).collect()
}

fn user() -> PublicKey {
    Keys::generate().public_key()
}

#[test]
fn opened_once_and_closed_when_no_longer_needed() {
    let mut fixture = Fixture::new(4, 64);
    let first = fixture.use_for(user(), &["a", "b", "a"], LATER, NOW);
    assert_eq!(names(&first.handles), ["a", "b"]);
    assert_eq!(names(&first.opened), ["a", "b"]);
    let second = fixture.use_for(user(), &["b"], LATER.plus(GRACE), NOW);
    assert_eq!((names(&second.handles), second.opened.len()), (vec!["b".to_owned()], 0));

    fixture.relays_in_use.expire(LATER.plus(GRACE), GRACE);
    assert_eq!(fixture.open(), ["a", "b"], "the grace is not over");
    fixture.relays_in_use.expire(UnixMillis(LATER.plus(GRACE).0 + 1), GRACE);
    assert_eq!(fixture.open(), ["b"]);
    assert!(first.handles[0].close.is_cancelled() && !first.handles[1].close.is_cancelled());
    // An earlier end does not shorten a later one.
    fixture.use_for(user(), &["b"], NOW, NOW);
    fixture.relays_in_use.expire(LATER.plus(GRACE), Duration::ZERO);
    assert_eq!(fixture.open(), ["b"]);
}

#[test]
fn configured_relays_can_be_added_and_removed() {
    let mut fixture = Fixture::new(4, 64);
    let handle = fixture.configure("ours");
    assert!(!fixture.relays_in_use.add(&handle), "once");
    let used = fixture.use_for(user(), &["ours", "a"], LATER, NOW);
    assert_eq!((names(&used.handles), used.refused), (vec!["a".to_owned()], 0), "ours is not opened twice");
    fixture.configure("a");
    assert!(!used.handles[0].close.is_cancelled(), "the user's connection lives on until the new one is there");
    assert_eq!(names(&fixture.relays_in_use.configured()), ["ours", "a"]);
    assert_eq!(name_of(&fixture.relays_in_use.remove(&address("ours")).unwrap()), "ours");
    assert!(fixture.relays_in_use.remove(&address("ours")).is_none());
    assert_eq!(names(&fixture.relays_in_use.configured()), ["a"]);
}

#[test]
fn relays_per_user_are_limited() {
    let mut fixture = Fixture::new(2, 64);
    let (greedy, other) = (user(), user());
    let used = fixture.use_for(greedy, &["a", "b", "c", "d"], LATER, NOW);
    assert_eq!((names(&used.handles), used.refused), (vec!["a".to_owned(), "b".to_owned()], 2));
    fixture.use_for(other, &["b"], LATER, NOW);

    // The user names other relays now: the user's oldest ones are closed, unless another user uses them.
    fixture.use_for(greedy, &["e"], LATER, NOW);
    assert_eq!(fixture.open(), ["a", "b", "e"], "b was the user's oldest, but is another's too");
    fixture.use_for(greedy, &["f", "g"], LATER, NOW);
    assert_eq!(fixture.open(), ["b", "f", "g"]);
    for name in 'h'..='z' {
        fixture.use_for(greedy, &[&name.to_string()], LATER, NOW);
        assert!(fixture.open().len() <= 3);
    }
    let used = Fixture::new(4, 0).use_for(user(), &["a", "b"], LATER, NOW);
    assert_eq!((used.handles.len(), used.opened.len(), used.refused), (0, 0, 2), "where users' relays are not used");
}

#[test]
fn least_needed_relay_is_closed_when_the_limit_is_reached() {
    let mut fixture = Fixture::new(4, 3);
    let expired = NOW;
    fixture.use_for(user(), &["busy"], LATER, NOW);
    fixture.use_for(user(), &["down"], LATER, NOW).handles[0].disconnected(NOW, "no".into());
    fixture.use_for(user(), &["idle"], expired, NOW);
    let now = UnixMillis(NOW.0 + 1);

    let used = fixture.use_for(user(), &["new1"], LATER, now);
    assert_eq!((used.evicted, fixture.open()), (1, vec!["busy".into(), "down".into(), "new1".into()]));
    fixture.use_for(user(), &["new2"], LATER, now);
    assert_eq!(fixture.open(), ["busy", "new1", "new2"]);
    let used = fixture.use_for(user(), &["new3"], LATER, now);
    assert_eq!((used.handles.len(), used.refused, used.evicted), (0, 1, 0), "an answer is awaited on each of them");
    assert_eq!(fixture.open(), ["busy", "new1", "new2"]);
    let now = UnixMillis(LATER.0 + 1);
    fixture.use_for(user(), &["new3"], now, now);
    assert_eq!(fixture.open(), ["new1", "new2", "new3"], "nobody waits any more, and busy was used longest ago");
}

#[test]
fn users_first_relay_takes_precedence_over_others_second() {
    let mut fixture = Fixture::new(4, 4);
    let used = fixture.use_for(user(), &["a", "b", "c", "d"], LATER, NOW);
    assert_eq!(used.handles.len(), 4);
    let used = fixture.use_for(user(), &["e", "f", "g"], LATER, NOW);
    assert_eq!((names(&used.handles), used.refused), (vec!["e".to_owned(), "f".to_owned()], 1));
    assert_eq!(fixture.open(), ["a", "b", "e", "f"]);
    fixture.use_for(user(), &["f"], LATER, NOW);
    fixture.use_for(user(), &["g"], LATER, NOW);
    assert_eq!(fixture.open(), ["a", "e", "f", "g"], "b was a second choice, and f is a first one now");
    assert_eq!(fixture.use_for(user(), &["h"], LATER, NOW).refused, 1);
}

#[test]
fn relays_per_host_are_limited_whoever_names_them() {
    let mut fixture = Fixture::new(4, 64);
    fixture.use_for(user(), &["honest"], LATER, NOW);
    for sybil in 0..20 {
        let paths: Vec<_> = (0..4).map(|path| format!("evil/{sybil}-{path}")).collect();
        fixture.use_for(user(), &paths.iter().map(String::as_str).collect::<Vec<_>>(), LATER, NOW);
    }
    assert_eq!(fixture.open(), ["evil/0-0", "evil/0-1", "evil/0-2", "honest"]);
    // Paths invented at a relay that others use do not keep those out.
    let used = fixture.use_for(user(), &["evil"], LATER, NOW);
    assert_eq!((names(&used.handles), used.evicted), (vec!["evil".to_owned()], 1));
    assert_eq!(fixture.open(), ["evil", "evil/0-1", "evil/0-2", "honest"]);
    assert_eq!(fixture.use_for(user(), &["evil/new"], LATER, NOW).refused, 1);
}

#[test]
fn hosts_with_many_relays_make_room_for_hosts_with_few() {
    let mut fixture = Fixture::new(4, 4);
    for name in ["a/1", "a/2", "a/3", "b"] {
        fixture.use_for(user(), &[name], LATER, NOW);
    }
    let used = fixture.use_for(user(), &["c"], LATER, NOW);
    assert_eq!((used.evicted, fixture.open()), (1, vec!["a/1".into(), "a/2".into(), "b".into(), "c".into()]));
    assert_eq!(fixture.use_for(user(), &["d"], LATER, NOW).evicted, 1);
    assert_eq!(fixture.use_for(user(), &["e"], LATER, NOW).refused, 1, "each has one");
}

#[test]
fn invented_paths_at_a_users_relay_do_not_displace_it() {
    let mut fixture = Fixture::new(4, 4);
    fixture.use_for(user(), &["busy/old", "busy"], LATER, NOW);
    fixture.use_for(user(), &["busy"], LATER, NOW);
    for sybil in 0..100 {
        fixture.use_for(user(), &[&format!("busy/{sybil}")], LATER, NOW);
        fixture.use_for(user(), &[&format!("host{sybil}")], LATER, NOW);
    }
    assert_eq!(fixture.open(), ["busy", "host0", "host1", "host2"]);
    // The invented ones do not count when it is opened again.
    fixture.relays_in_use.expire(UnixMillis(LATER.plus(GRACE).0 + 1), GRACE);
    assert_eq!(fixture.use_for(user(), &["busy"], LATER, NOW).opened.len(), 1);
}

#[test]
fn invented_paths_at_the_operators_relay_are_limited() {
    let mut fixture = Fixture::new(4, 64);
    fixture.configure("ours");
    let opened: usize =
        (0..20).map(|path| fixture.use_for(user(), &[&format!("ours/{path}")], LATER, NOW).opened.len()).sum();
    assert_eq!(opened, BESIDE_OURS);
    assert_eq!(fixture.use_for(user(), &["sub.ours"], LATER, NOW).opened.len(), 1, "another server");
}

#[test]
fn many_names_at_one_network_address_count_as_one_host() {
    let mut fixture = Fixture::new(4, 64);
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let mut settle = |name: &str, at: &str, until| {
        fixture.use_for(user(), &[name], until, NOW);
        fixture.relays_in_use.settle(&address(name), ip(at), UnixMillis(NOW.0 + 1))
    };
    assert!(settle("a", "8.8.8.8", NOW));
    assert!(settle("b", "::ffff:8.8.8.8", LATER) && settle("c", "8.8.8.8", LATER));
    assert!(settle("d", "8.8.8.8", LATER), "nobody waits for a");
    assert!(!settle("e", "8.8.8.8", LATER));
    assert!(settle("b", "8.8.8.8", LATER), "it is there already");
    assert!(settle("f", "8.8.4.4", LATER));
    for (name, last) in [("g", "1"), ("h", "2:3"), ("i", "4:5:6")] {
        assert!(settle(name, &format!("2001:4860:0:1::{last}"), LATER));
    }
    assert!(!settle("j", "2001:4860:0:1::8", LATER), "one customer's network");
    assert!(settle("k", "2001:4860:0:2::8", LATER));
    assert!(fixture.relays_in_use.settle(&address("gone"), ip("8.8.8.8"), NOW) || fixture.open().len() == 10);
    assert!(!fixture.open().contains(&"a".to_owned()));
}

#[test]
fn connection_attempts_to_a_dead_host_are_limited() {
    let mut fixture = Fixture::new(4, 64);
    let mut opened = 0;
    for sybil in 0..1000 {
        let used = fixture.use_for(user(), &[&format!("victim/{sybil}")], LATER, NOW);
        used.handles.iter().for_each(|handle| handle.disconnected(NOW, "refused".into()));
        opened += used.opened.len();
    }
    assert!((32..40).contains(&opened), "{opened}");
    assert_eq!(fixture.open().len(), 3);
    assert_eq!(fixture.use_for(user(), &["other"], LATER, NOW).opened.len(), 1);
}

#[test]
fn relay_with_more_users_than_counted_is_kept() {
    let mut fixture = Fixture::new(1, 64);
    let users: Vec<_> = (0..USERS_OF_A_RELAY + 10).map(|_| user()).collect();
    for user in &users {
        fixture.use_for(*user, &["popular"], LATER, NOW);
    }
    assert_eq!(fixture.relays_in_use.of_users[&address("popular")].users.len(), USERS_OF_A_RELAY);
    for user in &users {
        fixture.use_for(*user, &["elsewhere"], LATER, NOW);
    }
    assert_eq!(fixture.open(), ["elsewhere", "popular"], "those who were not counted may still need it");
}
