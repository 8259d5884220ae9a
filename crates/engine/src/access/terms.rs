//! The permissions and limits of a key, and the request for a new one.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use utoipa::PartialSchema as _;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{ObjectBuilder, Type};

use super::{ConsoleUser, Role, Scope};
use crate::field_type;
use crate::request_body;
use crate::request_body::{Flag, Integer, Millisats, OneLine, OrDefault, UnixSeconds, field_reader};

/// Longest name, in characters.
pub(super) const MAX_NAME: usize = 100;

/// Longest network, in bytes: an IPv6 address ending in IPv4 notation, with its prefix length.
const MAX_NETWORK_BYTES: usize = 49;

/// Most networks of a key.
const MAX_NETWORKS: usize = 32;

/// Most requests per second.
const MAX_RATE: u64 = 100_000;

/// The permissions and limits of a key, fixed when it is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The name given by the operator.
    pub name: String,
    /// Its permissions.
    pub scopes: BTreeSet<Scope>,
    /// Unix seconds from which it is not accepted any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The networks from which it is accepted; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "as_text")]
    pub networks: Vec<IpNet>,
    /// Whether it sees only the streams that it has started.
    #[serde(default)]
    pub own_streams_only: bool,
    /// Most millisats that it may send within 24 hours, including fees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_budget_millisats: Option<u64>,
    /// Most requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<NonZeroU32>,
    /// Of an operator's session: the role; of an approver without one, the least.
    #[serde(skip)]
    pub role: Option<Role>,
}

/// Networks as strings.
mod as_text {
    use ipnet::IpNet;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(networks: &[IpNet], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(networks.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

impl Terms {
    /// The permissions of a session of the console.
    pub(super) fn of_user(user: &ConsoleUser, scopes: BTreeSet<Scope>) -> Self {
        Self { scopes, ..Self::of_operator(&user.name, user.role.unwrap_or(Role::Viewer)) }
    }

    /// The permissions of an operator.
    pub(super) fn of_operator(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            scopes: role.scopes().into_iter().collect(),
            expires_at: None,
            networks: Vec::new(),
            own_streams_only: false,
            daily_budget_millisats: None,
            requests_per_second: None,
            role: Some(role),
        }
    }

    /// Whether it is accepted from this address.
    pub fn admits(&self, address: Option<IpAddr>) -> bool {
        self.networks.is_empty()
            || address.is_some_and(|address| {
                let address = address.to_canonical();
                self.networks.iter().any(|network| network.contains(&address))
            })
    }

    /// The restrictions of `creator` that this key exceeds: a key cannot create one with more permissions.
    pub(super) fn excess_over(&self, creator: &Self) -> Vec<(&'static str, String)> {
        let mut excess = Vec::new();
        let scopes: Vec<_> = self.scopes.difference(&creator.scopes).map(|scope| scope.as_str()).collect();
        if !scopes.is_empty() {
            excess.push(("/scopes", format!("your own key lacks {}", scopes.join(", "))));
        }
        let mut bound = |pointer, exceeds: bool, what: &str| {
            if exceeds {
                excess.push((pointer, format!("must be at least as strict as that of your own key: {what}")));
            }
        };
        if let Some(own) = creator.expires_at {
            let exceeds = self.expires_at.is_none_or(|wanted| wanted > own);
            bound("/expires_at", exceeds, &format!("at most {own}"));
        }
        if !creator.networks.is_empty() {
            let covered = |wanted: &IpNet| creator.networks.iter().any(|own| own.contains(wanted));
            let exceeds = self.networks.is_empty() || !self.networks.iter().all(covered);
            let own: Vec<_> = creator.networks.iter().map(ToString::to_string).collect();
            bound("/networks", exceeds, &format!("within {}", own.join(", ")));
        }
        bound("/own_streams_only", creator.own_streams_only && !self.own_streams_only, "true");
        if let Some(own) = creator.requests_per_second {
            let exceeds = self.requests_per_second.is_none_or(|wanted| wanted > own);
            bound("/requests_per_second", exceeds, &format!("at most {own}"));
        }
        // Otherwise creating keys would multiply the budget.
        if creator.daily_budget_millisats.is_some() && self.scopes.contains(&Scope::PaymentsSend) {
            let detail = "your own key has a daily budget, so it cannot have a key for payments:send";
            excess.push(("/scopes", detail.to_owned()));
        }
        excess
    }
}

field_type! {
    /// Scopes of a key.
    pub ScopeWord: BTreeSet<Scope>,
    |pointer, value, errors| {
        let words = field_reader::list(pointer, value, errors, 100, |word| {
            Scope::parse(word).ok_or_else(|| format!("must be one of {}", Scope::ALL.map(Scope::as_str).join(", ")))
        })?;
        if words.is_empty() {
            return errors.reject(pointer, "must name at least one scope");
        }
        Some(words.into_iter().collect())
    },
    ArrayBuilder::new().items(Scope::schema()).min_items(Some(1)).max_items(Some(100))
}

/// Converts an IPv4-mapped IPv6 network (`::ffff:192.0.2.0/120`) to IPv4.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let address = mapped.addr().to_ipv4_mapped();
    let prefix = mapped.prefix_len().checked_sub(96);
    let canonical = address.zip(prefix).and_then(|(address, prefix)| IpNet::new(address.into(), prefix).ok());
    canonical.unwrap_or(network)
}

field_type! {
    /// Networks in CIDR notation, or single addresses.
    pub Networks: Vec<IpNet>,
    |pointer, value, errors| {
        field_reader::list(pointer, value, errors, MAX_NETWORKS, |text| {
            let network =
                text.parse().or_else(|_| text.parse().map(|address: IpAddr| IpNet::from(address.to_canonical())));
            network
                .map(|network: IpNet| canonical(network.trunc()))
                .map_err(|_| "must be a network such as 192.0.2.0/24".to_owned())
        })
    },
    ArrayBuilder::new()
        .items(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(utoipa::openapi::SchemaFormat::Custom("ip-network".to_owned())))
                .max_length(Some(MAX_NETWORK_BYTES))
                .examples([serde_json::json!("192.0.2.0/24")]),
        )
        .max_items(Some(MAX_NETWORKS))
}

request_body! {
    /// Creates an API key.
    #[derive(Clone, Debug)]
    pub struct NewKeyRequest, NewKeyDraft = "NewKeyRequest", example {
        "name": "shop",
        "scopes": ["payments:receive", "events:read"],
    } {
        /// What you call it, on one line.
        name: OneLine<MAX_NAME>,
        /// What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which).
        scopes: ScopeWord,
        /// Unix seconds from which it is not accepted any more. By default it does not expire.
        expires_at: Option<UnixSeconds>,
        /// The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as the service sees its clients (`info.trusted_proxies`). By default all.
        networks: OrDefault<Networks>,
        /// Whether it sees only the streams that it has started. By default it sees all.
        own_streams_only: OrDefault<Flag>,
        /// Most millisats that it may send within 24 hours, fees included, beside `wallet.daily_budget_millisats`. By default,
        /// only that limits it.
        daily_budget_millisats: Option<Millisats>,
        /// Most requests per second, in a burst of as many. By default only `limits.requests_per_second` limits it.
        requests_per_second: Option<Integer<1, MAX_RATE>>,
    }
}

impl NewKeyRequest {
    pub(super) fn terms(self) -> Terms {
        Terms {
            name: self.name,
            scopes: self.scopes,
            expires_at: self.expires_at,
            networks: self.networks,
            own_streams_only: self.own_streams_only,
            daily_budget_millisats: self.daily_budget_millisats,
            requests_per_second: self
                .requests_per_second
                .and_then(|rate| u32::try_from(rate).ok())
                .and_then(NonZeroU32::new),
            role: None,
        }
    }
}
