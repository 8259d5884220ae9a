use serde_json::{Value, json};
use usher_protocol::nwc::{NOTIFICATION, NOTIFICATION_NIP04, Scheme};

use super::Encryptions;

/// Kind, encryption and text of each event that carries a notification.
pub(super) fn encodings(
    encryptions: Encryptions,
    notification_type: &str,
    notification: &Value,
) -> impl Iterator<Item = (u16, Scheme, String)> {
    let text = json!({"notification_type": notification_type, "notification": notification}).to_string();
    let old = (encryptions != Encryptions::Nip44).then(|| (NOTIFICATION_NIP04, Scheme::Nip04, text.clone()));
    let new = (encryptions != Encryptions::Nip04).then_some((NOTIFICATION, Scheme::Nip44, text));
    old.into_iter().chain(new)
}
