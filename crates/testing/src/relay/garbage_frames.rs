//! Frames that no relay should send.

use tokio_tungstenite::tungstenite::Message;

/// Bytes of the huge frame: more than any event may have.
const HUGE: usize = 2 << 20;

/// Levels of the deeply nested one: enough to overflow the stack of a parser without a limit.
const DEEP: usize = 200_000;

/// The `n`th junk frame, over and over; `subscription` is one the client has open.
pub(super) fn frame(n: usize, subscription: &str) -> Message {
    let id = serde_json::Value::from(subscription);
    let zeros = "0".repeat(64);
    let text = match n % 20 {
        0 => "hello".to_owned(),
        1 => String::new(),
        2 => "{".to_owned(),
        3 => "null".to_owned(),
        4 => "[]".to_owned(),
        5 => "[1,2,3]".to_owned(),
        6 => "[\"EVENT\"]".to_owned(),
        7 => format!("[\"EVENT\",{id},{{}}]"),
        8 => format!(
            "[\"EVENT\",{id},{{\"id\":\"{zeros}\",\"pubkey\":\"{zeros}\",\"created_at\":-1,\"kind\":70000,\"tags\":[[]],\"content\":7,\"sig\":\"\"}}]"
        ),
        9 => "[\"EVENT\",\"of nobody\",null]".to_owned(),
        10 => "[\"OK\"]".to_owned(),
        11 => format!("[\"OK\",\"{zeros}\",\"true\",7]"),
        12 => format!("[\"OK\",\"{zeros}\",true,\"\"]"),
        13 => "[\"AUTH\",{\"a\":5}]".to_owned(),
        14 => "[\"NOTICE\"]".to_owned(),
        15 => "[\"SOMETHING\",\"new\",{}]".to_owned(),
        16 => format!("[\"EVENT\",{id},{}{}]", "[".repeat(DEEP), "]".repeat(DEEP)),
        17 => format!("[\"NOTICE\",\"{}\"]", "A".repeat(HUGE)),
        18 => return Message::binary(vec![0xff; 300]),
        _ => "[\"NOTICE\",\"\\ud83d\\u0000\\u001b[2J\"]".to_owned(),
    };
    Message::text(text)
}
