//! The keysets of one mint: caching, verification (NUT-02) and selection.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use cashu::nut02::KeySetVersion;
use cashu::{Id, KeySet, KeySetInfo, Keys, Proof};
use parking_lot::Mutex;
use usher_engine::ports::TokenFault;

use crate::client::MintClient;
use crate::mint_address::normal_unit;
use crate::mint_error::{MintError, Refusal};
use crate::outputs::OutputError;
use crate::token::{ReadProof, ReadToken};

/// How long the list of keysets is used. A rotation is noticed after this, or when the mint refuses a keyset.
pub(crate) const FRESH: Duration = Duration::from_secs(5 * 60);

/// Shortest time between two fetches because of an unknown keyset, which senders of tokens can cause at will.
const AGAIN: Duration = Duration::from_secs(3);

/// Most keysets of a mint.
pub(crate) const MAX_KEYSETS: usize = 1000;

/// Most keysets per mint whose keys are cached (about 8 KB each).
const MAX_KEYS: usize = 64;

const MAX_DENOMINATIONS: usize = 256;

/// A keyset whose `final_expiry` is nearer than this is avoided for new proofs, and own proofs are swapped out of it.
pub(crate) const EXPIRY_NOTICE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Optional features of a mint (NUT-06).
#[derive(Clone, Debug, Default)]
pub(crate) struct Support {
    /// Descriptions of quotes (NUT-23).
    pub(crate) description: bool,
}

pub(crate) struct Keysets {
    client: MintClient,
    cache: Mutex<Cache>,
    /// Held while the list is fetched, so that concurrent callers share one fetch.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Cache {
    list: Option<(Arc<Vec<KeySetInfo>>, Duration)>,
    /// The error of the last failed fetch, and its number among the fetches.
    failed: Option<(MintError, u64)>,
    fetches: u64,
    keys: HashMap<Id, Arc<Keys>>,
    support: Option<Support>,
}

impl Keysets {
    pub(crate) fn new(client: MintClient) -> Self {
        Self { client, cache: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// All keysets, fetched at most `max_age` before `now` (on the monotonic clock).
    pub(crate) async fn list(&self, now: Duration, max_age: Duration) -> Result<Arc<Vec<KeySetInfo>>, MintError> {
        let cached = |since: Duration| {
            let cache = self.cache.lock();
            let list = cache.list.as_ref().filter(|(_, at)| at.saturating_add(max_age) >= since);
            list.map(|(list, _)| Arc::clone(list))
        };
        if let Some(list) = cached(now) {
            return Ok(list);
        }
        let before = self.cache.lock().fetches;
        let _fetching = self.fetching.lock().await;
        if let Some(list) = cached(now) {
            return Ok(list);
        }
        // Callers that waited for a failed fetch share its error; otherwise they would time out one after the other.
        if let Some((error, _)) = self.cache.lock().failed.as_ref().filter(|(_, at)| *at > before) {
            return Err(error.clone());
        }
        let fetched = self.client.keysets().await;
        let mut cache = self.cache.lock();
        cache.fetches += 1;
        match fetched {
            Ok(mut response) => {
                response.keysets.truncate(MAX_KEYSETS);
                let list = Arc::new(response.keysets);
                cache.list = Some((Arc::clone(&list), now));
                Ok(list)
            }
            Err(error) => {
                cache.failed = Some((error.clone(), cache.fetches));
                Err(error)
            }
        }
    }

    /// Discards the list, after the mint refused a keyset from it.
    pub(crate) fn forget(&self) {
        self.cache.lock().list = None;
    }

    pub(crate) fn known(&self, id: Id) -> Option<Arc<Keys>> {
        self.cache.lock().keys.get(&id).cloned()
    }

    /// The keys of a keyset, verified against its id, unit, fee and expiry (NUT-02).
    pub(crate) async fn keys(&self, info: &KeySetInfo) -> Result<Arc<Keys>, MintError> {
        if let Some(keys) = self.known(info.id) {
            return Ok(keys);
        }
        let invalid = |what: &str| MintError::Invalid(format!("the keys of keyset {}… {what}", short(info.id)));
        let keyset = self.client.keys(info.id).await?.ok_or_else(|| invalid("are missing"))?;
        verify(&keyset, info).map_err(invalid)?;
        let keys = Arc::new(keyset.keys);
        let mut cache = self.cache.lock();
        if cache.keys.len() >= MAX_KEYS {
            cache.keys.clear();
        }
        cache.keys.insert(info.id, Arc::clone(&keys));
        Ok(keys)
    }

    /// The active keyset of `unit` for new proofs: preferably one that does not expire soon, with the lowest fee. Fetches the
    /// list again when there is none.
    pub(crate) async fn active(&self, unit: &str, now: Duration, at: u64) -> Result<KeySetInfo, MintError> {
        if let Some(best) = best(&self.list(now, FRESH).await?, unit, at) {
            return Ok(best);
        }
        best(&self.list(now, AGAIN).await?, unit, at).ok_or_else(|| {
            MintError::Refused(Refusal { code: None, text: "it has no active keyset of this unit".to_owned() })
        })
    }

    /// The proofs of a token with full keyset ids, each with the keys of its keyset. Fetches the list again when a keyset is
    /// unknown.
    ///
    /// # Errors
    /// [`MintError`]; the inner result has [`TokenFault`]: `UnknownKeyset`, `OtherUnit`, `Forged` (an amount without key).
    pub(crate) async fn resolve(
        &self,
        token: &ReadToken,
        now: Duration,
    ) -> Result<Result<Vec<(Proof, Arc<Keys>)>, TokenFault>, MintError> {
        let mut list = self.list(now, FRESH).await?;
        if token.proofs.iter().any(|proof| find(&list, proof).is_none()) {
            list = self.list(now, AGAIN).await?;
        }
        let mut keys = HashMap::new();
        let mut proofs = Vec::with_capacity(token.proofs.len());
        for proof in &token.proofs {
            let Some(info) = find(&list, proof) else { return Ok(Err(TokenFault::UnknownKeyset)) };
            if normal_unit(&info.unit.to_string()) != token.unit {
                return Ok(Err(TokenFault::OtherUnit));
            }
            let of_keyset = match keys.entry(info.id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.keys(info).await?),
            };
            let proof = proof.of_keyset(info.id);
            if of_keyset.amount_key(proof.amount).is_none() {
                return Ok(Err(TokenFault::Forged));
            }
            proofs.push((proof, Arc::clone(of_keyset)));
        }
        Ok(Ok(proofs))
    }

    /// Checks that the mint supports what the wallet requires: NUT-07 (states), NUT-09 (restore), NUT-12 (DLEQ proofs). Returns
    /// its optional features.
    pub(crate) async fn support(&self) -> Result<Support, MintError> {
        if let Some(support) = &self.cache.lock().support {
            return Ok(support.clone());
        }
        let info = self.client.info().await?;
        let nuts = info.get("nuts").ok_or_else(|| MintError::Invalid("its info lists no NUTs".to_owned()))?;
        for (nut, what) in [("7", "states of proofs"), ("9", "restoring signatures"), ("12", "DLEQ proofs")] {
            let supported = nuts.get(nut).and_then(|nut| nut.get("supported")).and_then(serde_json::Value::as_bool);
            if supported != Some(true) {
                let text = format!("it does not support {what} (NUT-{nut:0>2})");
                return Err(MintError::Refused(Refusal { code: None, text }));
            }
        }
        let methods = nuts.get("4").and_then(|nut| nut.get("methods")).and_then(serde_json::Value::as_array);
        let mut bolt11 =
            methods.into_iter().flatten().filter(|method| method.get("method").is_some_and(|m| m == "bolt11"));
        // NUT-23 has the option in `options`; some mints have it in the method itself.
        let describes = |method: &serde_json::Value| {
            let within = method.get("options").and_then(|options| options.get("description"));
            within.or(method.get("description")).and_then(serde_json::Value::as_bool) == Some(true)
        };
        let support = Support { description: bolt11.any(describes) };
        self.cache.lock().support = Some(support.clone());
        Ok(support)
    }
}

/// The best of the keysets that sign new proofs of `unit` at `at` (Unix seconds).
fn best(list: &[KeySetInfo], unit: &str, at: u64) -> Option<KeySetInfo> {
    let expiry = |info: &KeySetInfo| info.final_expiry.filter(|expiry| *expiry != 0);
    let soon = at.saturating_add(EXPIRY_NOTICE.as_secs());
    let usable = list.iter().filter(|info| {
        // Signatures of an expired keyset are worthless, even if the mint calls it active.
        info.active && expiry(info).is_none_or(|expiry| expiry > at) && normal_unit(&info.unit.to_string()) == unit
    });
    let best = usable.min_by_key(|info| {
        let expires = expiry(info).filter(|expiry| *expiry < soon);
        (expires.is_some(), u64::MAX - expires.unwrap_or(u64::MAX), info.input_fee_ppk, info.id)
    });
    best.cloned()
}

/// The first characters of a keyset's id, for error texts.
fn short(id: Id) -> String {
    id.to_string().chars().take(8).collect()
}

/// The keyset of a proof, whose keyset id may be shortened.
fn find<'a>(list: &'a [KeySetInfo], proof: &ReadProof) -> Option<&'a KeySetInfo> {
    let prefix = proof.keyset_prefix();
    let mut found = list.iter().filter(|info| stands_for(&prefix, info.id));
    let first = found.next()?;
    // The same keyset may be listed twice; two different keysets are ambiguous.
    found.all(|other| other.id == first.id).then_some(first)
}

/// Ids of version 1 are always whole; those of version 2 have at least 8 bytes (NUT-00).
fn stands_for(prefix: &[u8], id: Id) -> bool {
    let whole = id.to_bytes();
    match id.get_version() {
        KeySetVersion::Version00 => whole == prefix,
        KeySetVersion::Version01 => prefix.len() >= 8 && whole.starts_with(prefix),
    }
}

fn verify(keyset: &KeySet, info: &KeySetInfo) -> Result<(), &'static str> {
    if normal_unit(&keyset.unit.to_string()) != normal_unit(&info.unit.to_string()) {
        return Err("have another unit");
    }
    if keyset.keys.is_empty() || keyset.keys.len() > MAX_DENOMINATIONS {
        return Err("are none or too many");
    }
    if keyset.keys.iter().any(|(amount, _)| u64::from(*amount) == 0) {
        return Err("have the amount 0");
    }
    // Verified with the fee and expiry of the list, which the wallet uses. Some mints leave them out of the keys.
    let as_listed = KeySet { input_fee_ppk: info.input_fee_ppk, final_expiry: info.final_expiry, ..keyset.clone() };
    as_listed.verify_id().map_err(|_| "do not match its id")
}

/// The fee of spending a proof, in thousandths of its unit; 0 if its keyset is not listed.
pub(crate) fn fee_ppk(list: &[KeySetInfo], proof: &Proof) -> u64 {
    list.iter().find(|info| info.id == proof.keyset_id).map_or(0, |info| info.input_fee_ppk)
}

/// The fee of spending these proofs, in their unit: the sum of their fees, rounded up (NUT-02).
pub(crate) fn fee(list: &[KeySetInfo], proofs: &[Proof]) -> u64 {
    proofs.iter().map(|proof| fee_ppk(list, proof)).fold(0, u64::saturating_add).div_ceil(1000)
}

/// The fee of spending new proofs of this keyset that are worth `total`.
pub(crate) fn fee_of_new(total: u64, info: &KeySetInfo, keys: &Keys) -> Result<u64, OutputError> {
    let parts = u64::try_from(crate::outputs::split(total, keys)?.len()).unwrap_or(u64::MAX);
    Ok(info.input_fee_ppk.saturating_mul(parts).div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use cashu::CurrencyUnit;

    use super::*;

    #[test]
    fn an_expired_keyset_is_never_used_and_one_that_expires_soon_only_without_another() {
        let info = |id: &str, final_expiry, input_fee_ppk| KeySetInfo {
            id: Id::from_str(id).unwrap(),
            unit: CurrencyUnit::Sat,
            active: true,
            final_expiry,
            input_fee_ppk,
        };
        let at = 1_700_000_000;
        let soon = info("0000000000000002", Some(at + 60), 0);
        let late = info("0000000000000003", Some(0), 100);
        let list = [info("0000000000000001", Some(at), 0), soon, late];
        let used = |list: &[KeySetInfo]| best(list, "sat", at).map(|info| info.id.to_string());
        assert_eq!(used(&list).as_deref(), Some("0000000000000003"), "0 is no expiry");
        assert_eq!(used(&list[..2]).as_deref(), Some("0000000000000002"));
        assert_eq!(used(&list[..1]), None);
        assert!(best(&list, "multi", at).is_none());
    }
}
