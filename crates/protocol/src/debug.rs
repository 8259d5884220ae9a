/// Implements `Debug` that shows these fields alone: the others may be secret, or long. `Name(..)` shows nothing but the name, and
/// `Name as Display` what `Display` does.
#[macro_export]
macro_rules! debug_shows {
    ($type:ident(..)) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($type), "(…)"))
            }
        }
    };
    ($type:ident as Display) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    };
    ($type:ident $(<$generic:ident>)? { $($field:ident),* }) => {
        impl$(<$generic>)? ::std::fmt::Debug for $type$(<$generic>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}
