use super::*;
use crate::kernel::fixtures::{Around, stream};

const SECOND: Duration = Duration::from_secs(1);

fn key(n: u64) -> PublicKey {
    let mut key = [7; 32];
    key[..8].copy_from_slice(&n.to_be_bytes());
    PublicKey::from_byte_array(key)
}

fn relay(name: &str) -> Source {
    Source::Relay(Some(name.into()))
}

fn limits(around: &Around) -> ScanLimits {
    ScanLimits::new(ScanLimitParts {
        index: Arc::clone(&around.index),
        capacity: Capacity::new(Arc::clone(&around.index), 10),
        inputs: around.inputs.clone(),
        logins: ChildLogins::new(10, around.clock.clone()),
        clock: around.clock.clone(),
        tasks: around.tasks.clone(),
    })
}

fn scan(limits: &ScanLimits, n: u64, source: &Source) -> Result<(), ScanLimit> {
    limits.take(stream(1), Some((key(n), false)), source)
}

#[tokio::test]
async fn one_key_scans_once_a_minute_and_uses_up_nothing_of_others() {
    let around = Around::new();
    let limits = limits(&around);
    for minute in 0..3 {
        assert_eq!(scan(&limits, 1, &relay("a")), Ok(()), "minute {minute}");
        for _ in 0..3_000 {
            assert_eq!(scan(&limits, 1, &relay("a")), Err(ScanLimit::Author));
        }
        assert_eq!(limits.take(stream(2), Some((key(1), false)), &relay("a")), Ok(()), "another URL");
        assert_eq!(scan(&limits, 100 + minute, &relay("a")), Ok(()));
        around.clock.turn(SECOND * 60);
    }
    assert_eq!((limits.refused(stream(1)), limits.refused(stream(2))), (9_000, 0));
    // On the page, where who fails tries again at once.
    let on_page = || limits.take_on_page(stream(1), Some(key(1)), ClientNetwork::Loopback);
    assert_eq!((on_page(), on_page(), on_page(), on_page()), (Ok(()), Ok(()), Ok(()), Err(ScanLimit::Author)));
}

/// Keys are free: a flood of new ones comes over one relay, or from one address, for hours.
#[tokio::test]
async fn one_source_closes_a_poster_to_nobody_who_comes_over_another() {
    let flooded =
        [relay("a"), relay(""), Source::Relay(None), Source::Network(ClientNetwork::Network([10, 0, 0, 1].into()))];
    for source in flooded {
        let around = Around::new();
        let limits = limits(&around);
        let (mut keys, mut refused) = (1_000_000, 0);
        for second in 0..4_000 {
            for _ in 0..if second == 0 { 5_000 } else { 10 } {
                keys += 1;
                refused += u64::from(scan(&limits, keys, &source).is_err());
            }
            assert_eq!(scan(&limits, second, &relay("b")), Ok(()), "after {second} s");
            around.clock.turn(SECOND);
        }
        assert!(refused > 30_000, "{refused} refused");
        let counts = limits.counts();
        assert_eq!(counts.refused, [0, refused, 0, 0]);
        assert_eq!(limits.refused(stream(1)), refused);
    }
}

#[tokio::test]
async fn there_is_a_limit_in_all_for_each_url() {
    let around = Around::new();
    let limits = limits(&around);
    let sources = ["a", "b", "c", "d", "e", "f"].map(relay);
    let admitted = (0..12_000).filter(|n| scan(&limits, *n, &sources[*n as usize % 6]).is_ok()).count();
    assert_eq!(admitted, 10_000);
    assert_eq!(limits.counts().refused, [0, 0, 2_000, 0]);
    assert_eq!(limits.take(stream(2), Some((key(1), false)), &relay("a")), Ok(()), "another URL");
    around.clock.turn(SECOND);
    let admitted = (20_000..20_100).filter(|n| scan(&limits, *n, &relay("f")).is_ok()).count();
    assert_eq!(admitted, 10, "ten a second");
    limits.forget(stream(1));
    assert_eq!(limits.refused(stream(1)), 0);
}

#[tokio::test]
async fn memory_is_bounded() {
    let around = Around::new();
    let limits = limits(&around);
    for n in 0..70_000 {
        let _ = limits.take(StreamId::from_parts(n, [0; 10]), Some((key(n), false)), &relay("a"));
    }
    let state = limits.state.lock();
    assert_eq!((state.authors.len(), state.sources.len()), (REMEMBERED, REMEMBERED));
    assert_eq!(state.handshakes.len(), HANDSHAKES);
}
