//! Enums whose variants have numbers in a protocol.

/// Defines an enum with the number of each variant, and reads variants by number.
macro_rules! numbered {
    ($(#[$of:meta])* $scope:vis enum $name:ident: $number:ty { $($(#[$what:meta])* $variant:ident = $value:literal,)+ }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($number)]
        $scope enum $name {
            $($(#[$what])* $variant = $value,)+
        }

        impl $name {
            const fn from_number(number: $number) -> Option<Self> {
                match number {
                    $($value => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use numbered;
