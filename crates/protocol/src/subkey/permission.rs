use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a subkey may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Answer authentication challenges.
    Auth,
    /// Move value in any way.
    Payment,
}

impl Permission {
    const ALL: [Self; 2] = [Self::Auth, Self::Payment];

    /// The bit in [`Permissions`] and in the canonical form of the metadata.
    const fn bit(self) -> u8 {
        match self {
            Self::Auth => 0x01,
            Self::Payment => 0x02,
        }
    }
}

/// A set of permissions; an array of words in JSON.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// Whether `permission` is in the set.
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// The byte in the canonical form of the metadata.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The permissions in the set.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |bits, permission| bits | permission.bit()))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// An unknown word makes the proof unreadable: the subkey cannot be derived without its bit.
impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = Permissions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of permissions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Permissions, A::Error> {
                let mut bits = 0;
                while let Some(permission) = words.next_element::<Permission>()? {
                    bits |= permission.bit();
                }
                Ok(Permissions(bits))
            }
        }

        deserializer.deserialize_seq(Words)
    }
}
