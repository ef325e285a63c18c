//! Macros for the setters of configurations and the spellings of enums.

/// For fields of a configuration, a setter each, which returns the configuration.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub const fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}

/// For an enum of words: all of them, their spellings, and both directions as text.
#[doc(hidden)]
#[macro_export]
macro_rules! spelled {
    ($name:ident { $($variant:ident = $spelling:literal),+ } else |$text:ident| -> $error:ty { $unknown:expr }) => {
        impl $name {
            /// All of them, in the order in which they are declared.
            pub const ALL: [Self; [$($spelling),+].len()] = [$(Self::$variant),+];

            /// Its spelling.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $spelling),+ }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $name {
            type Err = $error;

            fn from_str($text: &str) -> Result<Self, $error> {
                match $text { $($spelling => Ok(Self::$variant),)+ _ => Err($unknown) }
            }
        }
    };
}
