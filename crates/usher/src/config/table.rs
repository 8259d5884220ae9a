//! The form of the table of keys.

use super::reader::Reader;

/// A section of the configuration file.
#[derive(Debug)]
pub struct Section {
    /// The table's name in the file, such as `wallet.nwc`.
    pub name: &'static str,
    /// Its description, one entry per line.
    pub doc: &'static [&'static str],
    /// Its keys.
    pub keys: &'static [Key],
}

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// Its full name, such as `wallet.nwc.url`.
    pub name: &'static str,
    /// Its description, one entry per line.
    pub doc: &'static [&'static str],
    /// What a value looks like, as in "must be …".
    pub shape: fn() -> String,
    /// An example for the reference, as TOML, for keys without default.
    pub example: &'static str,
    /// Its default, as TOML.
    pub default: Option<&'static str>,
    /// The service does not start without it.
    pub required: bool,
    /// Its value is never shown, and may come from a file of its own.
    pub secret: bool,
    /// This version checks it but does not act on it yet.
    pub later: bool,
}

impl Key {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("SERVICE__{}", self.name.to_ascii_uppercase().replace('.', "__"))
    }

    /// The environment variable that names the file with its value; only secrets have one.
    pub fn file_variable(&self) -> Option<String> {
        self.secret.then(|| format!("{}_FILE", self.variable()))
    }

    /// The key that names the file with its value; only secrets have one.
    pub fn file_name(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.name))
    }

    /// Its name within its section.
    pub fn short(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

/// A part of the configuration that reads itself.
pub trait FromReader: Sized {
    /// Reads every key, and says `None` when one of them was wrong or missing: the reader has noted what.
    fn from_reader(reader: &mut Reader<'_>) -> Option<Self>;
}

/// Makes the structs of the configuration and [`Key`] table from one list.
///
/// An entry reads `/// description` · `key: Type = "default as TOML", later;` where the default and `later` (see
/// [`Key::later`]) may be left out.
macro_rules! configuration {
    ($(
        $(#[doc = $section_doc:literal])*
        [$name:literal] $field:ident: $Section:ident {
            $( $(#[doc = $doc:literal])* $key:ident: $Type:ty $(= $default:literal)? $(, $later:ident)?; )*
        }
    )*) => {
        /// The configuration, read and checked. `Debug` shows no secret.
        #[derive(Debug)]
        pub struct Config {
            $( $(#[doc = $section_doc])* pub $field: $Section, )*
        }

        $(
            $(#[doc = $section_doc])*
            #[derive(Debug)]
            pub struct $Section {
                $( $(#[doc = $doc])* pub $key: $Type, )*
            }

            impl $crate::config::table::FromReader for $Section {
                fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                    // All are read before the first is missed, so that all mistakes are noted.
                    $( let $key = reader.read::<$Type>(concat!($name, ".", stringify!($key))); )*
                    Some(Self { $( $key: $key?, )* })
                }
            }
        )*

        impl $crate::config::table::FromReader for Config {
            fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                $( let $field = <$Section as $crate::config::table::FromReader>::from_reader(reader); )*
                Some(Self { $( $field: $field?, )* })
            }
        }

        /// Every section with its keys, in the order of the reference.
        pub static SECTIONS: &[$crate::config::table::Section] = &[
            $( $crate::config::table::Section {
                name: $name,
                doc: &[$($section_doc),*],
                keys: &[ $( $crate::config::table::Key {
                    name: concat!($name, ".", stringify!($key)),
                    doc: &[$($doc),*],
                    shape: <$Type as $crate::config::setting::Setting>::shape,
                    example: <$Type as $crate::config::setting::Setting>::EXAMPLE,
                    default: configuration!(@default $($default)?),
                    required: <$Type as $crate::config::setting::Setting>::REQUIRED
                        && configuration!(@default $($default)?).is_none(),
                    secret: <$Type as $crate::config::setting::Setting>::SECRET,
                    later: configuration!(@later $($later)?),
                }, )* ],
            }, )*
        ];
    };
    (@default $default:literal) => { Some($default) };
    (@default) => { None::<&str> };
    (@later later) => { true };
    (@later) => { false };
}
pub(crate) use configuration;
