use serde::{Deserialize, Serialize};

use crate::StreamId;

/// Who started a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredOrigin", into = "StoredOrigin")]
pub enum LoginOrigin {
    /// The app, for one of its users.
    App,
    /// A browser, for another protocol (OpenID Connect); the service's own app gets no events.
    Client {
        /// The requesting app's name, for the page.
        name: String,
    },
    /// A user at a reusable login, whose stream has all events.
    Reusable {
        /// The stream of the reusable login.
        stream: StreamId,
    },
}

impl LoginOrigin {
    /// Whether anybody can begin it, without the app.
    pub const fn is_public(&self) -> bool {
        matches!(self, Self::Client { .. } | Self::Reusable { .. })
    }

    /// The reusable login that it is at.
    pub const fn reusable(&self) -> Option<StreamId> {
        match self {
            Self::Reusable { stream } => Some(*stream),
            Self::App | Self::Client { .. } => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredOrigin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reusable: Option<StreamId>,
}

impl TryFrom<StoredOrigin> for LoginOrigin {
    type Error = &'static str;

    fn try_from(stored: StoredOrigin) -> Result<Self, Self::Error> {
        match stored {
            StoredOrigin { client_name: None, reusable: None } => Ok(Self::App),
            StoredOrigin { client_name: Some(name), reusable: None } => Ok(Self::Client { name }),
            StoredOrigin { client_name: None, reusable: Some(stream) } => Ok(Self::Reusable { stream }),
            StoredOrigin { client_name: Some(_), reusable: Some(_) } => Err("a login has two origins"),
        }
    }
}

impl From<LoginOrigin> for StoredOrigin {
    fn from(origin: LoginOrigin) -> Self {
        let (client_name, reusable) = match origin {
            LoginOrigin::App => (None, None),
            LoginOrigin::Client { name } => (Some(name), None),
            LoginOrigin::Reusable { stream } => (None, Some(stream)),
        };
        Self { client_name, reusable }
    }
}
