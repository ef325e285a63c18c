//! The spellings of policies: parsing, and errors that list the policies.

use super::Policy;
use super::jbsq::JBSQ_BOUND_MAX;
use crate::core_set::CORES_MAX;
use crate::time::Span;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// How long an RPC keeps its core under `preemptive:Q` while others wait; above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantum(Span);

impl Quantum {
    /// Shinjuku's 5 µs.
    pub const SHINJUKU: Self = Self(Span::from_us(5));

    /// A quantum of `span`; `None` for a span of zero.
    #[must_use]
    pub fn try_new(span: Span) -> Option<Self> {
        (span > Span::ZERO).then_some(Self(span))
    }

    /// How long it is.
    #[must_use]
    #[inline]
    pub const fn span(self) -> Span {
        self.0
    }
}

impl fmt::Display for Quantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0.as_ps();
        let units = [(1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        let (unit_ps, unit) = units.into_iter().find(|(unit_ps, _)| ps.is_multiple_of(*unit_ps)).unwrap_or((1, "ps"));
        f.pad(&alloc::format!("{}{unit}", ps / unit_ps))
    }
}

/// The number of groups of cores under `altocumulus:G`, from 1 to [`CORES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Groups(u16);

impl Groups {
    /// `groups` groups; `None` for zero or too many.
    #[must_use]
    pub fn try_new(groups: u16) -> Option<Self> {
        (1..=CORES_MAX).contains(&groups).then_some(Self(groups))
    }

    /// The number of groups.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An unknown or unsupported policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParsePolicyError {
    /// No policy has that name.
    #[error("unknown policy \"{text}\": there are {}", Policy::SPELLINGS.join(", "))]
    Unknown {
        /// The text given.
        text: String,
    },
    /// The argument after the colon is missing, not understood, or out of range.
    #[error("policy \"{text}\" needs {needs}")]
    Argument {
        /// The text given.
        text: String,
        /// A valid argument.
        needs: String,
    },
}

impl ParsePolicyError {
    pub(super) fn unknown(text: &str) -> Self {
        Self::Unknown { text: text.into() }
    }
}

pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    }
}

pub(super) trait Argument: Sized {
    fn read(text: &str) -> Option<Self>;

    /// The valid arguments, for errors.
    fn needs() -> String;
}

/// The bound of `jbsq:N`.
impl Argument for u32 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().filter(|bound| (1..=JBSQ_BOUND_MAX).contains(bound))
    }

    fn needs() -> String {
        alloc::format!("a bound from 1 to {JBSQ_BOUND_MAX}, such as jbsq:2")
    }
}

impl Argument for Quantum {
    fn read(text: &str) -> Option<Self> {
        Span::from_str(text).ok().and_then(Self::try_new)
    }

    fn needs() -> String {
        String::from("a quantum of more than no time, such as preemptive:5us")
    }
}

impl Argument for Groups {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().and_then(Self::try_new)
    }

    fn needs() -> String {
        alloc::format!("a number of groups from 1 to {CORES_MAX}, such as altocumulus:4")
    }
}

pub(super) fn argument<T: Argument>(text: &str, argument: Option<&str>) -> Result<T, ParsePolicyError> {
    let unread = || ParsePolicyError::Argument { text: text.into(), needs: T::needs() };
    argument.and_then(T::read).ok_or_else(unread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_policy_reads_back_from_its_spelling() {
        let more = ["preemptive:1500ns", "preemptive:2ms", "preemptive:7ps", "altocumulus:1", "altocumulus:16"];
        let policies = || Policy::SAMPLES.iter().chain(&more).copied();
        for text in policies() {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        assert_eq!("preemptive:0.5us".parse::<Policy>().unwrap().to_string(), "preemptive:500ns");
        let names: alloc::collections::BTreeSet<_> = policies().map(|text| split(text).0).collect();
        assert_eq!(Policy::SPELLINGS.len(), names.len(), "each has a sample");
    }

    #[test]
    fn what_is_not_available_says_so_and_lists_what_is() {
        for text in ["", "JBSQ:2", "rss:3", "jbsq2", "first-come", "work-stealing:2", "darc:"] {
            assert_eq!(text.parse::<Policy>(), Err(ParsePolicyError::Unknown { text: text.into() }));
        }
        let wrong = [
            ("jbsq", &["", ":", ":0", ":65", ":-1", ":2:2"][..], "jbsq:2"),
            ("preemptive", &["", ":", ":0us", ":5", ":-5us", ":fast"], "preemptive:5us"),
            ("altocumulus", &["", ":", ":0", ":4097", ":all"], "altocumulus:4"),
        ];
        for (name, endings, right) in wrong {
            for ending in endings {
                let error = alloc::format!("{name}{ending}").parse::<Policy>().unwrap_err();
                assert!(matches!(error, ParsePolicyError::Argument { .. }), "{error}");
                assert!(error.to_string().ends_with(right), "{error}");
            }
        }
    }
}
