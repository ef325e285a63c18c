//! The spellings of policies: reading them, and saying what there is when they cannot be read.

use super::Policy;
use super::jbsq::JBSQ_BOUND_MAX;
use alloc::string::String;
use core::str::FromStr;

/// Spellings that the simulator's design has and this crate has not: their decisions are not made in one place.
const DISTRIBUTED: [&str; 3] = ["work-stealing", "preemptive", "altocumulus"];

/// A policy that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParsePolicyError {
    /// No policy has that name.
    #[error("unknown policy \"{text}\": there are {}", Policy::SPELLINGS.join(", "))]
    Unknown {
        /// What was asked for.
        text: String,
    },
    /// A policy of the literature that is not a central one.
    #[error("policy \"{text}\" is not available yet: there are {}", Policy::SPELLINGS.join(", "))]
    NotCentral {
        /// What was asked for.
        text: String,
    },
    /// A bound that is missing, no number, 0 or too large.
    #[error("policy \"{text}\" needs a bound from 1 to {JBSQ_BOUND_MAX}, such as jbsq:2")]
    Bound {
        /// What was asked for.
        text: String,
    },
}

impl ParsePolicyError {
    pub(super) fn unknown(text: &str) -> Self {
        let text = String::from(text);
        if DISTRIBUTED.contains(&split(&text).0) { Self::NotCentral { text } } else { Self::Unknown { text } }
    }
}

/// The name, and the argument after the colon.
pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    }
}

/// The bound after the colon.
pub(super) fn argument<T: FromStr + Into<u64> + Copy>(
    text: &str,
    argument: Option<&str>,
) -> Result<T, ParsePolicyError> {
    argument
        .and_then(|argument| argument.parse::<T>().ok())
        .filter(|&bound| (1..=u64::from(JBSQ_BOUND_MAX)).contains(&bound.into()))
        .ok_or_else(|| ParsePolicyError::Bound { text: text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_policy_reads_back_from_its_spelling() {
        let policies =
            ["rss", "round-robin", "random", "key-hash", "single-queue", "mcs-lock", "jbsq:1", "jbsq:2", "jbsq:64"];
        for text in policies {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        assert_eq!(Policy::SPELLINGS.len(), 7);
    }

    #[test]
    fn what_is_not_available_says_so_and_lists_what_is() {
        for text in ["work-stealing", "preemptive:5us", "altocumulus:4"] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains("not available yet") && error.contains("jbsq:N"), "{error}");
        }
        for text in ["", "JBSQ:2", "rss:3", "jbsq2", "first-come"] {
            assert_eq!(text.parse::<Policy>(), Err(ParsePolicyError::Unknown { text: text.into() }));
        }
        for text in ["jbsq", "jbsq:", "jbsq:0", "jbsq:65", "jbsq:-1", "jbsq:2:2"] {
            assert_eq!(text.parse::<Policy>(), Err(ParsePolicyError::Bound { text: text.into() }));
        }
    }
}
