//! The macro that generates types from the table of keys.

use super::reader::Reader;

/// A part of the configuration that reads itself.
pub trait FromReader: Sized {
    /// Reads all keys; `None` if one is invalid or missing, which the reader records.
    fn from_reader(reader: &mut Reader<'_>) -> Option<Self>;
}

/// Generates the structs of the configuration and the table of [`Key`](super::key::Key)s from one list.
///
/// A section named `""` has the keys outside of all tables. An entry has the form `/// description` · `key: Type = "default as TOML";`, with an optional default.
macro_rules! configuration {
    ($(
        $(#[doc = $section_doc:literal])*
        [$name:literal] $field:ident: $Section:ident {
            $( $(#[doc = $doc:literal])* $key:ident: $Type:ty $(= $default:literal)?; )*
        }
    )*) => {
        /// The validated configuration. `Debug` shows no secret.
        #[derive(Debug)]
        pub struct Config {
            $( $(#[doc = $section_doc])* pub $field: $Section, )*
            /// What the API shows of it.
            pub settings: Vec<usher_api::Setting>,
        }

        $(
            $(#[doc = $section_doc])*
            #[derive(Debug)]
            pub struct $Section {
                $( $(#[doc = $doc])* pub $key: $Type, )*
            }

            impl $crate::config::key_table_macro::FromReader for $Section {
                fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                    // All keys are read before the first failure returns, so that all errors are recorded.
                    $( let $key = reader.read::<$Type>(
                        $crate::config::key::full_name(concat!($name, ".", stringify!($key)))
                    ); )*
                    Some(Self { $( $key: $key?, )* })
                }
            }
        )*

        impl $crate::config::key_table_macro::FromReader for Config {
            fn from_reader(reader: &mut $crate::config::reader::Reader<'_>) -> Option<Self> {
                $( let $field = <$Section as $crate::config::key_table_macro::FromReader>::from_reader(reader); )*
                let settings = reader.in_force.iter().map($crate::config::reader::InForce::setting).collect();
                Some(Self { $( $field: $field?, )* settings })
            }
        }

        /// Every section with its keys, in the order of the reference.
        pub static SECTIONS: &[$crate::config::key::Section] = &[
            $( $crate::config::key::Section {
                name: $name,
                doc: &[$($section_doc),*],
                keys: &[ $( $crate::config::key::Key {
                    name: $crate::config::key::full_name(concat!($name, ".", stringify!($key))),
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
