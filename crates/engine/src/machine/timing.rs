//! Times in states, and how long a reply is awaited.

use std::time::Duration;

use crate::UnixMillis;

/// How long to wait for a reply of the Lightning backend: longer than the adapters' time limits.
const LEASE: Duration = Duration::from_secs(25);

pub(crate) fn lease(now: UnixMillis) -> UnixMillis {
    now.plus(LEASE)
}

/// Unix milliseconds as a number in the state, or `null`.
pub(crate) mod optional_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::ref_option)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(at: &Option<UnixMillis>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(|at| at.0).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UnixMillis>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(UnixMillis))
    }
}

pub(crate) mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(at: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
        u64::deserialize(deserializer).map(UnixMillis)
    }
}
