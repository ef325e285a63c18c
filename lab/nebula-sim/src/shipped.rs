//! Data files that are compiled into the library: their names and texts.

/// A folder of TOML files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shipped {
    /// Below `lab/nebula-sim/data`.
    pub(crate) folder: &'static str,
    /// File names without extension, and texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// The files of a type, in a folder below `data/`, and how they are found by name.
macro_rules! shipped {
    ($kind:ident in $folder:literal: $($name:literal),+ $(,)?) => {
        const SHIPPED: $crate::shipped::Shipped = $crate::shipped::Shipped {
            folder: $folder,
            files: &[$((
                $name,
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $folder, "/", $name, ".toml")),
            )),+],
        };

        impl $kind {
            /// The names under which such files ship with the library.
            pub fn shipped() -> impl Iterator<Item = &'static str> {
                SHIPPED.names()
            }

            /// The one that ships under this name; `None` if none does.
            ///
            /// # Panics
            ///
            /// If the shipped file is invalid; a test checks each.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                SHIPPED.parsed(name, Self::parse)
            }

            /// The TOML text that ships under this name; `None` if none does.
            #[must_use]
            pub fn source(name: &str) -> Option<&'static str> {
                SHIPPED.text(name)
            }
        }
    };
}
pub(crate) use shipped;

impl Shipped {
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.files.iter().map(|&(name, _)| name)
    }

    pub(crate) fn text(self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|&&(shipped, _)| shipped == name).map(|&(_, text)| text)
    }

    /// The parsed file of this name. Panics if `parse` fails; a test parses every file.
    pub(crate) fn parsed<T, E: std::fmt::Display>(self, name: &str, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        let Self { folder, .. } = self;
        Some(parse(self.text(name)?).unwrap_or_else(|error| panic!("data/{folder}/{name}.toml: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMS: Shipped =
        Shipped { folder: "systems", files: &[("rss", "name = \"rss\""), ("zygos", "name = \"zygos\"")] };

    #[test]
    fn a_file_is_found_by_its_name_and_no_other() {
        assert_eq!(SYSTEMS.names().collect::<Vec<_>>(), ["rss", "zygos"]);
        assert!(SYSTEMS.text("zygos").is_some_and(|text| text.contains("name = \"zygos\"")));
        assert_eq!(SYSTEMS.parsed("shinjuku", |text| Ok::<_, String>(text.len())), None);
    }

    #[test]
    #[should_panic(expected = "data/systems/rss.toml: no")]
    fn a_file_that_is_none_is_named() {
        let _ = SYSTEMS.parsed("rss", |_| Err::<(), _>("no"));
    }
}
