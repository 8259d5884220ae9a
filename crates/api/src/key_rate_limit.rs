//! Requests per second of each API key, and the header fields with the remaining number
//! (draft-ietf-httpapi-ratelimit-headers-10).

use std::num::NonZeroU32;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use usher_engine::UnixMillis;
use usher_engine::access::MAX_KEYS;
use usher_engine::ports::KeyId;
use usher_places::{LruCache, bounded};
use usher_token_bucket::{Rate, TokenBucket};

use crate::problem::{ErrorCode, Problem};

const SECOND: Duration = Duration::from_secs(1);

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The remaining rates of keys. Each bucket holds one second's worth of requests.
pub(crate) struct KeyRateLimits(Mutex<LruCache<KeyId, TokenBucket<UnixMillis>>>);

impl Default for KeyRateLimits {
    fn default() -> Self {
        Self(Mutex::new(bounded(MAX_KEYS)))
    }
}

/// The remaining quota of a key. A request extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyQuota {
    per_second: NonZeroU32,
    left: u32,
    /// Seconds until a further request is accepted. `None`: this one is accepted.
    retry_after: Option<u64>,
}

impl KeyRateLimits {
    pub(crate) fn take(&self, key: KeyId, per_second: NonZeroU32, now: UnixMillis) -> KeyQuota {
        let (left, wait) = self.take_at(key, Rate::full_after(per_second.get(), SECOND), now);
        let seconds = |wait: Duration| wait.as_nanos().div_ceil(SECOND.as_nanos()).try_into().unwrap_or(u64::MAX);
        KeyQuota { per_second, left, retry_after: wait.map(seconds) }
    }

    /// Counts a request, and returns whether it is within this rate.
    pub(crate) fn admits(&self, key: KeyId, rate: Rate, now: UnixMillis) -> bool {
        self.take_at(key, rate, now).1.is_none()
    }

    /// The remaining number, and the time until the next one.
    fn take_at(&self, key: KeyId, rate: Rate, now: UnixMillis) -> (u32, Option<Duration>) {
        let mut buckets = self.0.lock();
        let bucket = buckets.get_or_insert_mut(key, || TokenBucket::new(rate, now));
        let wait = bucket.try_take(now).err();
        (bucket.whole_tokens(now), wait)
    }
}

impl KeyQuota {
    /// Passes if the request is accepted.
    pub(crate) fn check(self) -> Result<(), Problem> {
        self.retry_after.map_or(Ok(()), |seconds| {
            let detail = "more requests per second than the `requests_per_second` of the key allows";
            Err(Problem::new(ErrorCode::RateLimited, detail).retry_after(seconds))
        })
    }

    /// Adds the header fields: lists of strings with parameters (RFC 9651). `q` requests within `w` seconds; `r`
    /// remain, and all of them are available after `t` seconds.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let Self { per_second, left, .. } = self;
        let reset = u8::from(left < per_second.get());
        let fields = [
            (RATE_LIMIT_POLICY, format!("\"key\";q={per_second};w=1")),
            (RATE_LIMIT, format!("\"key\";r={left};t={reset}")),
        ];
        for (name, value) in fields {
            // Visible ASCII: it cannot fail.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_732_137_600_000);

    fn key(number: u8) -> KeyId {
        KeyId::from_parts(NOW.0, [number; 10])
    }

    fn rate(per_second: u32) -> NonZeroU32 {
        NonZeroU32::new(per_second).unwrap()
    }

    fn fields(quota: KeyQuota) -> [String; 2] {
        let mut headers = HeaderMap::new();
        quota.write(&mut headers);
        ["ratelimit-policy", "ratelimit"].map(|name| headers[name].to_str().unwrap().to_owned())
    }

    #[test]
    fn each_key_has_its_rate() {
        let limits = KeyRateLimits::default();
        for left in [2, 1, 0] {
            let quota = limits.take(key(1), rate(3), NOW);
            assert_eq!((quota.left, quota.retry_after), (left, None));
        }
        let quota = limits.take(key(1), rate(3), NOW);
        assert_eq!((quota.left, quota.retry_after), (0, Some(1)));
        assert_eq!(fields(quota), ["\"key\";q=3;w=1", "\"key\";r=0;t=1"]);
        assert_eq!(limits.take(key(2), rate(3), NOW).left, 2, "another key");
        assert_eq!(limits.take(key(1), rate(3), UnixMillis(NOW.0 + 334)).retry_after, None);
        // Unused requests do not accumulate, and a clock that was set back blocks no key.
        assert_eq!(limits.take(key(1), rate(3), UnixMillis(NOW.0 + 60_000)).left, 2);
        assert_eq!(limits.take(key(1), rate(3), UnixMillis(0)).retry_after, None);
    }
}
