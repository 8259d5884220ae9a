//! The list of our relays: the configured ones, with the changes made at run time.

use serde::{Deserialize, Serialize};
use usher_engine::ports::{SettingStore, StoreError};

use crate::relay_address::RelayAddress;

const SETTING: &str = "relays";

/// The configured relays and the *difference* made at run time.
///
/// The difference is stored, not the resulting list, so later changes of the configuration apply unless the same relay
/// was changed at run time. A void difference (an added relay is now configured, a removed one no longer is) is dropped
/// at the next start; from then on the configuration decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceRelays {
    configured: Vec<RelayAddress>,
    added: Vec<RelayAddress>,
    /// Those of `added` restricted to public addresses.
    public_only: Vec<RelayAddress>,
    removed: Vec<RelayAddress>,
}

#[derive(Serialize, Deserialize)]
struct Difference {
    added: Vec<String>,
    removed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    public_only: Vec<String>,
}

impl ServiceRelays {
    /// The configured relays, with earlier changes made at run time.
    ///
    /// # Errors
    /// When the store fails. If the setting is unreadable, the configured relays are used.
    pub async fn load(settings: &dyn SettingStore, configured: &[RelayAddress]) -> Result<Self, StoreError> {
        let mut roster = Self::default();
        for address in configured {
            if !roster.configured.contains(address) {
                roster.configured.push(address.clone());
            }
        }
        let text = match settings.setting(SETTING).await {
            Err(StoreError::Unreadable(_)) => Some(String::new()),
            text => text?,
        };
        let changes = text.as_deref().map(read);
        if matches!(changes, Some(None)) {
            tracing::error!("cannot read the relays changed at run time from the database; using the configured ones");
        }
        if let (Some(text), Some(Some(Changes { added, removed, public_only }))) = (text, changes) {
            roster.added = added.into_iter().filter(|address| !roster.configured.contains(address)).collect();
            roster.public_only = public_only.into_iter().filter(|address| roster.added.contains(address)).collect();
            roster.removed = removed.into_iter().filter(|address| roster.configured.contains(address)).collect();
            if roster.text() != text {
                roster.save(settings).await?;
            }
        }
        Ok(roster)
    }

    /// The configured relays in their order, then those added, without those removed.
    pub fn relays(&self) -> Vec<RelayAddress> {
        let kept = self.configured.iter().filter(|address| !self.removed.contains(address));
        kept.chain(&self.added).cloned().collect()
    }

    /// Whether a relay is in the configuration, removed or not.
    pub(crate) fn is_configured(&self, address: &RelayAddress) -> bool {
        self.configured.contains(address)
    }

    /// Whether a relay is restricted to public addresses.
    pub fn is_public_only(&self, address: &RelayAddress) -> bool {
        self.public_only.contains(address)
    }

    pub(crate) fn contains(&self, address: &RelayAddress) -> bool {
        self.added.contains(address) || (self.is_configured(address) && !self.removed.contains(address))
    }

    /// With one more relay. `public_only` restricts a new relay; without it, an existing restriction is lifted.
    pub(crate) fn with(&self, address: &RelayAddress, public_only: bool) -> Self {
        let mut roster = self.clone();
        roster.removed.retain(|removed| removed != address);
        let is_new = !roster.contains(address);
        if is_new {
            roster.added.push(address.clone());
        }
        if !public_only {
            roster.public_only.retain(|other| other != address);
        } else if is_new {
            roster.public_only.push(address.clone());
        }
        roster
    }

    pub(crate) fn without(&self, address: &RelayAddress) -> Self {
        let mut roster = self.clone();
        roster.added.retain(|added| added != address);
        roster.public_only.retain(|other| other != address);
        if roster.contains(address) {
            roster.removed.push(address.clone());
        }
        roster
    }

    pub(crate) async fn save(&self, settings: &dyn SettingStore) -> Result<(), StoreError> {
        let text = (!self.added.is_empty() || !self.removed.is_empty()).then(|| self.text());
        settings.set_setting(SETTING, text.as_deref()).await
    }

    fn text(&self) -> String {
        let texts = |list: &[RelayAddress]| list.iter().map(RelayAddress::to_string).collect();
        let (added, removed) = (texts(&self.added), texts(&self.removed));
        let difference = Difference { added, removed, public_only: texts(&self.public_only) };
        serde_json::to_string(&difference).unwrap_or_default()
    }
}

struct Changes {
    added: Vec<RelayAddress>,
    removed: Vec<RelayAddress>,
    public_only: Vec<RelayAddress>,
}

fn read(text: &str) -> Option<Changes> {
    let Difference { added, removed, public_only } = serde_json::from_str(text).ok()?;
    let parse = |texts: Vec<String>| texts.iter().map(|text| RelayAddress::parse(text).ok()).collect::<Option<_>>();
    Some(Changes { added: parse(added)?, removed: parse(removed)?, public_only: parse(public_only)? })
}

#[cfg(test)]
mod tests {
    use usher_testing::ports::MemorySettings;

    use super::*;

    fn addresses(names: &str) -> Vec<RelayAddress> {
        names.chars().map(|name| RelayAddress::parse(&format!("wss://{name}.example")).unwrap()).collect()
    }

    async fn load(settings: &MemorySettings, configured: &str) -> ServiceRelays {
        ServiceRelays::load(settings, &addresses(configured)).await.unwrap()
    }

    async fn relays(settings: &MemorySettings, configured: &str) -> String {
        let roster = load(settings, configured).await;
        roster.relays().iter().map(|address| address.as_str().chars().nth(6).unwrap()).collect()
    }

    #[tokio::test]
    async fn later_configuration_changes_still_apply() {
        let settings = MemorySettings::default();
        assert_eq!(relays(&settings, "abb").await, "ab");
        let roster = load(&settings, "ab").await;
        let roster = roster.with(&addresses("c")[0], false).without(&addresses("a")[0]).with(&addresses("c")[0], false);
        roster.save(&settings).await.unwrap();
        assert_eq!(relays(&settings, "ab").await, "bc");
        assert_eq!(relays(&settings, "abd").await, "bdc", "one more configured");
        assert_eq!(relays(&settings, "a").await, "c", "one less");
        assert_eq!(relays(&settings, "bc").await, "bc", "configured what was added, taken out what was removed");
        assert_eq!(relays(&settings, "ab").await, "ab", "so the configuration has the last word again");
        assert!(settings.is_empty());
    }

    #[tokio::test]
    async fn opposite_changes_cancel_out() {
        let settings = MemorySettings::default();
        let (a, b) = (&addresses("a")[0], &addresses("b")[0]);
        let start = load(&settings, "a").await;
        assert_eq!(start.without(a).with(a, true), start);
        assert_eq!(start.with(b, true).without(b), start);
        assert_eq!(start.with(a, false), start);
        assert_eq!(start.without(b), start);
        assert!(!start.without(a).contains(a) && start.without(a).is_configured(a));
        start.without(a).save(&settings).await.unwrap();
        assert_eq!(relays(&settings, "a").await, "");
        start.save(&settings).await.unwrap();
        assert!(settings.is_empty());
    }

    #[tokio::test]
    async fn where_an_added_relay_may_lead_is_kept() {
        let settings = MemorySettings::default();
        let b = &addresses("b")[0];
        load(&settings, "a").await.with(b, true).save(&settings).await.unwrap();
        let restarted = load(&settings, "a").await;
        assert!(restarted.is_public_only(b) && restarted.with(b, true).is_public_only(b));
        assert!(!restarted.with(b, false).is_public_only(b), "the operator has added it too");
        assert!(!load(&settings, "ab").await.is_public_only(b), "it is configured now");
    }

    #[tokio::test]
    async fn an_unreadable_setting_is_ignored() {
        for text in ["", "{}", "[]", r#"{"added":["http://x"],"removed":[]}"#] {
            let settings = MemorySettings::default();
            settings.set_setting(SETTING, Some(text)).await.unwrap();
            assert_eq!(relays(&settings, "ab").await, "ab", "{text}");
            assert_eq!(settings.setting(SETTING).await.unwrap().as_deref(), Some(text), "kept for a diagnosis");
        }
    }
}
