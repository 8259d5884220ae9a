//! Runs the fuzz target with generated and damaged input, so that it runs with every test run.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use usher_tickets::read_token;

#[path = "../../../../fuzz/src/tickets.rs"]
#[allow(missing_docs, unreachable_pub)]
mod target;

/// The examples of NUT-00: one of version 3, one of version 4 with one keyset.
const V3: &str = "cashuAeyJ0b2tlbiI6W3sibWludCI6Imh0dHBzOi8vODMzMy5zcGFjZTozMzM4IiwicHJvb2ZzIjpbeyJhbW91bnQiOjIsImlkIjoiMDA5YTFmMjkzMjUzZTQxZSIsInNlY3JldCI6IjQwNzkxNWJjMjEyYmU2MWE3N2UzZTZkMmFlYjRjNzI3OTgwYmRhNTFjZDA2YTZhZmMyOWUyODYxNzY4YTc4MzciLCJDIjoiMDJiYzkwOTc5OTdkODFhZmIyY2M3MzQ2YjVlNDM0NWE5MzQ2YmQyYTUwNmViNzk1ODU5OGE3MmYwY2Y4NTE2M2VhIn0seyJhbW91bnQiOjgsImlkIjoiMDA5YTFmMjkzMjUzZTQxZSIsInNlY3JldCI6ImZlMTUxMDkzMTRlNjFkNzc1NmIwZjhlZTBmMjNhNjI0YWNhYTNmNGUwNDJmNjE0MzNjNzI4YzcwNTdiOTMxYmUiLCJDIjoiMDI5ZThlNTA1MGI4OTBhN2Q2YzA5NjhkYjE2YmMxZDVkNWZhMDQwZWExZGUyODRmNmVjNjlkNjEyOTlmNjcxMDU5In1dfV0sInVuaXQiOiJzYXQiLCJtZW1vIjoiVGhhbmsgeW91LiJ9";
const V4: &str = "cashuBpGF0gaJhaUgArSaMTR9YJmFwgaNhYQFhc3hAOWE2ZGJiODQ3YmQyMzJiYTc2ZGIwZGYxOTcyMTZiMjlkM2I4Y2MxNDU1M2NkMjc4MjdmYzFjYzk0MmZlZGI0ZWFjWCEDhhhUP_trhpXfStS6vN6So0qWvc2X3O4NfM-Y1HISZ5JhZGlUaGFuayB5b3VhbXVodHRwOi8vbG9jYWxob3N0OjMzMzhhdWNzYXQ=";

/// What the target reads as one of these tokens: its text, or what is in it.
fn seeds() -> Vec<Vec<u8>> {
    let inner = |text: &str| URL_SAFE_NO_PAD.decode(text["cashuX".len()..].trim_end_matches('=')).unwrap();
    let input = |choice: u8, rest: Vec<u8>| [vec![choice], rest].concat();
    vec![input(0, V3.into()), input(0, V4.into()), input(1, inner(V4)), input(2, inner(V3))]
}

#[test]
fn seeds_are_tokens() {
    for (token, amount) in [(V3, 10), (V4, 1)] {
        let info = read_token(&usher_engine::ports::Token(token.to_owned())).unwrap();
        assert_eq!((info.amount, info.unit.as_str()), (amount, "sat"));
    }
    seeds().iter().for_each(|seed| target::token(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// A piece is cut out, and another put in its place.
    #[test]
    fn damaged_tokens(
        seed in 0usize..4,
        damages in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, proptest::collection::vec(any::<u8>(), 0..6)), 1..4,
        ),
    ) {
        let mut bytes = seeds().swap_remove(seed);
        for (at, length, more) in damages {
            let at = at.index(bytes.len()).max(1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at.min(end)..end, more);
        }
        target::token(&bytes);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        target::token(&bytes);
    }

    /// Lengths and nesting that a sender states, without the bytes for them.
    #[test]
    fn heads_of_cbor(head in 0x80u8..0xc0, times in 1usize..4_000) {
        target::token(&[vec![1], vec![head; times]].concat());
        target::token(&[vec![1, 0xa1, 0x61, b't', 0x9b], vec![0xff; 8], vec![head; times]].concat());
    }
}
