/// Implements `Debug` that shows these fields alone: the others may be secret, or long.
#[macro_export]
macro_rules! debug_shows {
    ($type:ident $(<$generic:ident>)? { $($field:ident),* }) => {
        impl$(<$generic>)? ::std::fmt::Debug for $type$(<$generic>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}
