use tokio_util::sync::CancellationToken;
use usher_protocol::Keys;

use super::*;
use crate::status::Origin;
use crate::{Identity, RelayOptions};

const NOW: UnixMillis = UnixMillis(1_000_000);
const LATER: UnixMillis = UnixMillis(1_060_000);
const GRACE: Duration = Duration::from_secs(30);

struct World {
    directory: Directory,
    options: RelayOptions,
    stop: CancellationToken,
}

impl World {
    fn new(per_user: usize, in_all: usize) -> Self {
        Self {
            directory: Directory::new(Bounds { per_user, per_host: 3, in_all }),
            options: RelayOptions::new(Identity::of_main_key(Keys::generate()), Vec::new()),
            stop: CancellationToken::new(),
        }
    }

    fn configure(&mut self, name: &str) -> Arc<Link> {
        let link = Arc::new(Link::new(address(name), Origin::Configured, &self.options, &self.stop));
        assert!(self.directory.add(&link));
        link
    }

    fn use_for(&mut self, user: PublicKey, names: &[&str], until: UnixMillis, now: UnixMillis) -> Used {
        let wanted = names.iter().map(|name| address(name)).collect();
        let (options, stop) = (&self.options, &self.stop);
        let open = |address| Arc::new(Link::new(address, Origin::User, options, stop));
        self.directory.use_for(user, wanted, until, now, open)
    }

    fn open(&self) -> Vec<String> {
        let mut open: Vec<_> = self.directory.of_users().iter().map(|link| name_of(link)).collect();
        open.sort();
        open
    }
}

/// `a` is a relay of a host of its own, `a/x` another one of the same.
fn address(name: &str) -> RelayAddress {
    let (host, path) = name.split_once('/').map_or((name, String::new()), |(host, path)| (host, format!("/{path}")));
    RelayAddress::parse(&format!("wss://{host}.example{path}")).unwrap()
}

fn name_of(link: &Link) -> String {
    link.address.as_str().trim_start_matches("wss://").replace(".example", "")
}

fn names(links: &[Arc<Link>]) -> Vec<String> {
    links.iter().map(|link| name_of(link)).collect()
}

fn user() -> PublicKey {
    Keys::generate().public_key()
}

#[test]
fn opened_once_and_closed_when_no_longer_needed() {
    let mut world = World::new(4, 64);
    let first = world.use_for(user(), &["a", "b", "a"], LATER, NOW);
    assert_eq!(names(&first.links), ["a", "b"]);
    assert_eq!(names(&first.opened), ["a", "b"]);
    let second = world.use_for(user(), &["b"], LATER.plus(GRACE), NOW);
    assert_eq!((names(&second.links), second.opened.len()), (vec!["b".to_owned()], 0));

    world.directory.expire(LATER.plus(GRACE), GRACE);
    assert_eq!(world.open(), ["a", "b"], "the grace is not over");
    world.directory.expire(UnixMillis(LATER.plus(GRACE).0 + 1), GRACE);
    assert_eq!(world.open(), ["b"]);
    assert!(first.links[0].close.is_cancelled() && !first.links[1].close.is_cancelled());
}

#[test]
fn an_earlier_end_does_not_shorten_a_later_one() {
    let mut world = World::new(4, 64);
    world.use_for(user(), &["a"], LATER, NOW);
    world.use_for(user(), &["a"], NOW, NOW);
    world.directory.expire(LATER, Duration::ZERO);
    assert_eq!(world.open(), ["a"]);
}

#[test]
fn the_operators_relays_are_not_opened_twice() {
    let mut world = World::new(4, 64);
    world.configure("ours");
    let used = world.use_for(user(), &["ours", "a"], LATER, NOW);
    assert_eq!(names(&used.links), ["a"]);
    assert_eq!(used.refused, 0);
}

#[test]
fn adding_and_removing() {
    let mut world = World::new(4, 64);
    let link = world.configure("ours");
    assert!(!world.directory.add(&link), "once");
    let used = world.use_for(user(), &["a"], LATER, NOW);
    world.configure("a");
    assert!(!used.links[0].close.is_cancelled(), "the user's connection lives on until the new one is there");
    assert_eq!(names(&world.directory.configured()), ["ours", "a"]);
    assert_eq!(name_of(&world.directory.remove(&address("ours")).unwrap()), "ours");
    assert!(world.directory.remove(&address("ours")).is_none());
    assert_eq!(names(&world.directory.configured()), ["a"]);
}

#[test]
fn one_user_has_only_so_many() {
    let mut world = World::new(2, 64);
    let (greedy, other) = (user(), user());
    let used = world.use_for(greedy, &["a", "b", "c", "d"], LATER, NOW);
    assert_eq!((names(&used.links), used.refused), (vec!["a".to_owned(), "b".to_owned()], 2));
    world.use_for(other, &["b"], LATER, NOW);

    // The user names others now: of theirs the oldest are closed, unless somebody else uses them.
    world.use_for(greedy, &["e"], LATER, NOW);
    assert_eq!(world.open(), ["a", "b", "e"], "b was the user's oldest, but is another's too");
    world.use_for(greedy, &["f", "g"], LATER, NOW);
    assert_eq!(world.open(), ["b", "f", "g"]);
    for name in 'h'..='z' {
        world.use_for(greedy, &[&name.to_string()], LATER, NOW);
        assert!(world.open().len() <= 3);
    }
}

#[test]
fn when_all_are_taken_the_least_missed_goes() {
    let mut world = World::new(4, 3);
    let expired = NOW;
    world.use_for(user(), &["busy"], LATER, NOW);
    world.use_for(user(), &["down"], LATER, NOW).links[0].disconnected(NOW, "no".into());
    world.use_for(user(), &["idle"], expired, NOW);
    let now = UnixMillis(NOW.0 + 1);

    let used = world.use_for(user(), &["new1"], LATER, now);
    assert_eq!((used.evicted, world.open()), (1, vec!["busy".into(), "down".into(), "new1".into()]));
    world.use_for(user(), &["new2"], LATER, now);
    assert_eq!(world.open(), ["busy", "new1", "new2"]);
    let used = world.use_for(user(), &["new3"], LATER, now);
    assert_eq!((used.links.len(), used.refused, used.evicted), (0, 1, 0), "an answer is awaited on each of them");
    assert_eq!(world.open(), ["busy", "new1", "new2"]);
    let now = UnixMillis(LATER.0 + 1);
    world.use_for(user(), &["new3"], now, now);
    assert_eq!(world.open(), ["new1", "new2", "new3"], "nobody waits any more, and busy was used longest ago");
}

#[test]
fn a_users_first_choice_goes_before_others_second() {
    let mut world = World::new(4, 4);
    let used = world.use_for(user(), &["a", "b", "c", "d"], LATER, NOW);
    assert_eq!(used.links.len(), 4);
    let used = world.use_for(user(), &["e", "f", "g"], LATER, NOW);
    assert_eq!((names(&used.links), used.refused), (vec!["e".to_owned(), "f".to_owned()], 1));
    assert_eq!(world.open(), ["a", "b", "e", "f"]);
    world.use_for(user(), &["f"], LATER, NOW);
    world.use_for(user(), &["g"], LATER, NOW);
    assert_eq!(world.open(), ["a", "e", "f", "g"], "b was a second choice, and f is a first one now");
    assert_eq!(world.use_for(user(), &["h"], LATER, NOW).refused, 1);
}

#[test]
fn one_host_has_only_so_many_places_whoever_names_it() {
    let mut world = World::new(4, 64);
    world.use_for(user(), &["honest"], LATER, NOW);
    for sybil in 0..20 {
        let paths: Vec<_> = (0..4).map(|path| format!("evil/{sybil}-{path}")).collect();
        world.use_for(user(), &paths.iter().map(String::as_str).collect::<Vec<_>>(), LATER, NOW);
    }
    assert_eq!(world.open(), ["evil/0-0", "evil/0-1", "evil/0-2", "honest"]);
    // Paths made up at a relay that others use do not keep those out.
    let used = world.use_for(user(), &["evil"], LATER, NOW);
    assert_eq!((names(&used.links), used.evicted), (vec!["evil".to_owned()], 1));
    assert_eq!(world.open(), ["evil", "evil/0-1", "evil/0-2", "honest"]);
    assert_eq!(world.use_for(user(), &["evil/new"], LATER, NOW).refused, 1);
}

#[test]
fn hosts_with_many_places_make_room_for_hosts_with_few() {
    let mut world = World::new(4, 4);
    for name in ["a/1", "a/2", "a/3", "b"] {
        world.use_for(user(), &[name], LATER, NOW);
    }
    let used = world.use_for(user(), &["c"], LATER, NOW);
    assert_eq!((used.evicted, world.open()), (1, vec!["a/1".into(), "a/2".into(), "b".into(), "c".into()]));
    assert_eq!(world.use_for(user(), &["d"], LATER, NOW).evicted, 1);
    assert_eq!(world.use_for(user(), &["e"], LATER, NOW).refused, 1, "each has one");
}

#[test]
fn paths_made_up_at_a_users_relay_do_not_push_it_out() {
    let mut world = World::new(4, 4);
    world.use_for(user(), &["busy/old", "busy"], LATER, NOW);
    world.use_for(user(), &["busy"], LATER, NOW);
    for sybil in 0..100 {
        world.use_for(user(), &[&format!("busy/{sybil}")], LATER, NOW);
        world.use_for(user(), &[&format!("host{sybil}")], LATER, NOW);
    }
    assert_eq!(world.open(), ["busy", "host0", "host1", "host2"]);
    // And they do not count against it when it is opened anew.
    world.directory.expire(UnixMillis(LATER.plus(GRACE).0 + 1), GRACE);
    assert_eq!(world.use_for(user(), &["busy"], LATER, NOW).opened.len(), 1);
}

#[test]
fn paths_made_up_at_the_operators_relay_do_not_use_up_its_patience() {
    let mut world = World::new(4, 64);
    world.configure("ours");
    let opened: usize =
        (0..20).map(|path| world.use_for(user(), &[&format!("ours/{path}")], LATER, NOW).opened.len()).sum();
    assert_eq!(opened, BESIDE_OURS);
    assert_eq!(world.use_for(user(), &["sub.ours"], LATER, NOW).opened.len(), 1, "another server");
}

#[test]
fn many_names_at_one_network_address_count_as_one_host() {
    let mut world = World::new(4, 64);
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let mut settle = |name: &str, at: &str, until| {
        world.use_for(user(), &[name], until, NOW);
        world.directory.settle(&address(name), ip(at), UnixMillis(NOW.0 + 1))
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
    assert!(world.directory.settle(&address("gone"), ip("8.8.8.8"), NOW) || world.open().len() == 10);
    assert!(!world.open().contains(&"a".to_owned()));
}

#[test]
fn a_host_that_is_not_there_is_not_knocked_at_all_day() {
    let mut world = World::new(4, 64);
    let mut opened = 0;
    for sybil in 0..1000 {
        let used = world.use_for(user(), &[&format!("victim/{sybil}")], LATER, NOW);
        used.links.iter().for_each(|link| link.disconnected(NOW, "refused".into()));
        opened += used.opened.len();
    }
    assert!((32..40).contains(&opened), "{opened}");
    assert_eq!(world.open().len(), 3);
    assert_eq!(world.use_for(user(), &["other"], LATER, NOW).opened.len(), 1);
}

#[test]
fn with_no_room_at_all_users_have_none() {
    let mut world = World::new(4, 0);
    let used = world.use_for(user(), &["a", "b"], LATER, NOW);
    assert_eq!((used.links.len(), used.opened.len(), used.refused), (0, 0, 2));
}

#[test]
fn a_crowd_of_users_is_bounded_and_keeps_its_relay() {
    let mut world = World::new(1, 64);
    let users: Vec<_> = (0..USERS_OF_A_RELAY + 10).map(|_| user()).collect();
    for user in &users {
        world.use_for(*user, &["popular"], LATER, NOW);
    }
    assert_eq!(world.directory.of_users[&address("popular")].users.len(), USERS_OF_A_RELAY);
    for user in &users {
        world.use_for(*user, &["elsewhere"], LATER, NOW);
    }
    assert_eq!(world.open(), ["elsewhere", "popular"], "those who were not counted may still need it");
}
