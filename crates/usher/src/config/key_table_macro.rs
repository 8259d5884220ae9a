//! The macro that turns the table of keys into types.

use super::reader::Reader;

/// A part of the configuration that reads itself.
pub trait FromReader: Sized {
    /// Reads every key, and says `None` when one of them was wrong or missing: the reader has noted what.
    fn from_reader(reader: &mut Reader<'_>) -> Option<Self>;
}

/// Makes the structs of the configuration and table of [`Key`](super::key::Key)s from one list.
///
/// An entry reads `/// description` · `key: Type = "default as TOML";` where the default may be left out.
macro_rules! configuration {
    ($(
        $(#[doc = $section_doc:literal])*
        [$name:literal] $field:ident: $Section:ident {
            $( $(#[doc = $doc:literal])* $key:ident: $Type:ty $(= $default:literal)?; )*
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

            impl $crate::config::key_table_macro::FromReader for $Section {
                fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                    // All are read before the first is missed, so that all errors are noted.
                    $( let $key = reader.read::<$Type>(concat!($name, ".", stringify!($key))); )*
                    Some(Self { $( $key: $key?, )* })
                }
            }
        )*

        impl $crate::config::key_table_macro::FromReader for Config {
            fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                $( let $field = <$Section as $crate::config::key_table_macro::FromReader>::from_reader(reader); )*
                Some(Self { $( $field: $field?, )* })
            }
        }

        /// Every section with its keys, in the order of the reference.
        pub static SECTIONS: &[$crate::config::key::Section] = &[
            $( $crate::config::key::Section {
                name: $name,
                doc: &[$($section_doc),*],
                keys: &[ $( $crate::config::key::Key {
                    name: concat!($name, ".", stringify!($key)),
                    doc: &[$($doc),*],
                    expected: <$Type as $crate::config::setting::Setting>::expected,
                    example: <$Type as $crate::config::setting::Setting>::EXAMPLE,
                    default: configuration!(@default $($default)?),
                    required: <$Type as $crate::config::setting::Setting>::REQUIRED
                        && configuration!(@default $($default)?).is_none(),
                    secret: <$Type as $crate::config::setting::Setting>::SECRET,
                }, )* ],
            }, )*
        ];
    };
    (@default $default:literal) => { Some($default) };
    (@default) => { None::<&str> };
}
pub(crate) use configuration;
