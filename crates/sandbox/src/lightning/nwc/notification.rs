use serde_json::{Value, json};

use super::Encryptions;
use super::cipher::Scheme;

const NOTIFICATION_NIP04: u16 = 23_196;

const NOTIFICATION_NIP44: u16 = 23_197;

/// Kind, encryption and text of each event that carries a notification.
pub(super) fn encodings(
    encryptions: Encryptions,
    notification_type: &str,
    notification: &Value,
) -> impl Iterator<Item = (u16, Scheme, String)> {
    let text = json!({"notification_type": notification_type, "notification": notification}).to_string();
    let old = (encryptions != Encryptions::Nip44).then(|| (NOTIFICATION_NIP04, Scheme::Nip04, text.clone()));
    let new = (encryptions != Encryptions::Nip04).then_some((NOTIFICATION_NIP44, Scheme::Nip44, text));
    old.into_iter().chain(new)
}
