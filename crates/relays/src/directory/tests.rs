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
            directory: Directory::new(per_user, in_all),
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

fn address(name: &str) -> RelayAddress {
    RelayAddress::parse(&format!("wss://{name}.example")).unwrap()
}

fn name_of(link: &Link) -> String {
    link.address.as_str().trim_start_matches("wss://").trim_end_matches(".example").to_owned()
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
    world.use_for(user(), &["busy"], LATER, now);
    world.use_for(user(), &["new3"], LATER, now);
    assert_eq!(world.open(), ["busy", "new2", "new3"], "busy was used last");
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
