//! A check of builder methods, for the tests of every configuration.

/// Builds a configuration again with its builders, from the values of `$unusual`, none of which is the default's.
///
/// A field that is not listed does not compile, nor does one without a builder of its name.
macro_rules! rebuilt {
    ($config:ident from $unusual:expr; $($field:ident),*; optional $($optional:ident),*) => {{
        let (usual, $config { $($field,)* $($optional,)* }) = ($config::default(), $unusual);
        let shown = [
            $((format!("{:?}", $field), format!("{:?}", usual.$field)),)*
            $((format!("{:?}", $optional), format!("{:?}", usual.$optional)),)*
        ];
        for (set, usual) in shown {
            assert_ne!(set, usual, "a builder that does nothing would not be seen");
        }
        let rebuilt = $config::default()$(.$field($field))*;
        $(let rebuilt = rebuilt.$optional($optional.expect("not the default"));)*
        rebuilt
    }};
}

pub(crate) use rebuilt;
