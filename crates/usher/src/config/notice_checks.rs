//! Checks that what notices are about can happen.

use super::keys::Config;
use super::reader::Reader;
use super::setting::{
    BoundedInteger, LnBackend, NoticeAddress, NoticeTargets, Trigger, WebhookUrl, crosses_network_in_clear,
};

/// Records what notices are about and other keys rule out.
pub(super) fn check(reader: &Reader<'_>, note: &mut impl FnMut(&str, String)) {
    let Some(targets) = reader.peek_set::<NoticeTargets>("notices") else { return };
    let backend = reader.peek::<LnBackend>("wallet.ln_backend");
    let has_webhook = reader.unset::<WebhookUrl>("webhook.url").is_none();
    let no_limit = reader.unset::<BoundedInteger<0, 2_100_000_000_000_000_000>>("wallet.approval_above_millisats");
    for trigger in targets.triggers() {
        let missing = match trigger {
            Trigger::Webhook if !has_webhook => "webhook.url",
            Trigger::Approval if no_limit.is_some() => "wallet.approval_above_millisats",
            Trigger::BalanceBelow(_) if backend == Some(LnBackend::None) => "a Lightning backend (wallet.ln_backend)",
            Trigger::InboundBelow(_) if backend.is_some_and(|backend| backend != LnBackend::Embedded) => {
                "wallet.ln_backend = \"embedded\": other backends do not tell what they can receive"
            }
            _ => continue,
        };
        note("notices", format!("is about {}, which needs {missing}", trigger.name()));
    }
}

/// Warns of notices that others on the way can read.
pub(super) fn warnings(config: &Config, warnings: &mut Vec<String>) {
    for target in config.root.notices.iter().flat_map(NoticeTargets::targets) {
        let (NoticeAddress::Ntfy { url, .. } | NoticeAddress::Webhook { url, .. }) = &target.address else { continue };
        if url.expose().parse().is_ok_and(|url| crosses_network_in_clear(&url)) {
            warnings.push(format!("notices are sent to {} unencrypted: use https", url.origin()));
        }
    }
}
