//! The configuration as one line of `name=value` words, which a decision log begins with.

use super::BackendConfig;
use crate::dispatch::Policy;
use crate::fair_share::{Sources, Tenants};
use crate::id::DomainId;
use crate::recv_buffer::{ScrubMode, SlotOrder};
use crate::time::Span;
use crate::wire::Mtu;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// The line is not a valid configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{word}\" in a configuration: expected {expected}")]
pub struct ParseConfigError {
    word: String,
    expected: &'static str,
}

spelled! {
    ScrubMode { OnFull = "on-full", AfterNack = "after-nack", Ahead = "ahead", Off = "off" } else |text| -> ParseConfigError {
        ParseConfigError { word: text.into(), expected: "on-full, after-nack, ahead or off" }
    }
}

spelled! {
    SlotOrder { Circular = "circular", FirstWhenEmpty = "first-when-empty" } else |text| -> ParseConfigError {
        ParseConfigError { word: text.into(), expected: "circular or first-when-empty" }
    }
}

impl fmt::Display for BackendConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain={} slots={} mtu_bytes={} ", self.domain.0, self.slots, self.mtu.bytes())?;
        write!(f, "rpc_bytes_max={} reassembler_entries={} ", self.rpc_bytes_max, self.reassembler_entries)?;
        write!(f, "cores={} ", self.cores)?;
        match self.custom {
            None => write!(f, "policy={} ", self.policy)?,
            Some(name) => write!(f, "policy=custom:{name} ")?,
        }
        write!(f, "queue_bound={} ", self.queue_bound)?;
        write!(f, "queue_capacity={} scrub={} ", self.queue_capacity, self.scrub)?;
        write!(f, "reassembly_timeout_ps={} seed={}", self.reassembly_timeout.as_ps(), self.seed)?;
        if self.slot_order != SlotOrder::Circular {
            write!(f, " slot_order={}", self.slot_order)?;
        }
        match self.incomplete_per_peer {
            u32::MAX => {}
            rpcs => write!(f, " incomplete_per_peer={rpcs}")?,
        }
        match self.sources {
            Sources::ONE => {}
            Sources { shift, bits } => write!(f, " sources={shift}+{bits}")?,
        }
        if self.tenants != Tenants::ONE {
            write!(f, " tenants={}", self.tenants)?;
        }
        match self.policy {
            Policy::Darc => write!(f, " types={} type_window={}", self.types, self.type_window),
            _ => Ok(()),
        }
    }
}

impl FromStr for BackendConfig {
    type Err = ParseConfigError;

    /// Parses what `Display` writes, in any order; a missing word keeps the value of
    /// [`BackendConfig::new`] for one core and the default policy.
    fn from_str(line: &str) -> Result<Self, ParseConfigError> {
        let mut config = Self::new(1, Policy::default());
        for word in line.split_whitespace() {
            set(&mut config, word).map_err(|expected| ParseConfigError { word: word.into(), expected })?;
        }
        Ok(config)
    }
}

fn set(config: &mut BackendConfig, word: &str) -> Result<(), &'static str> {
    let (name, value) = word.split_once('=').ok_or("words of the form name=value")?;
    match name {
        "domain" => config.domain = DomainId(number(value)?),
        "slots" => config.slots = number(value)?,
        "mtu_bytes" => config.mtu = Mtu::try_new(number(value)?).map_err(|_| "a multiple of 16 from 48 on")?,
        "rpc_bytes_max" => config.rpc_bytes_max = number(value)?,
        "reassembler_entries" => config.reassembler_entries = number(value)?,
        "incomplete_per_peer" => config.incomplete_per_peer = number(value)?,
        "cores" => config.cores = number(value)?,
        "policy" => match value.strip_prefix("custom:") {
            Some(name) => config.custom = Some(name.parse().map_err(|_| "a policy such as jbsq:2 or custom:NAME")?),
            None => config.policy = value.parse().map_err(|_| "a policy such as jbsq:2")?,
        },
        "queue_bound" => config.queue_bound = number(value)?,
        "queue_capacity" => config.queue_capacity = number(value)?,
        "sources" => config.sources = sources(value)?,
        "tenants" => config.tenants = value.parse()?,
        "types" => config.types = number(value)?,
        "type_window" => config.type_window = number(value)?,
        "scrub" => config.scrub = spelled(value)?,
        "slot_order" => config.slot_order = spelled(value)?,
        "reassembly_timeout_ps" => config.reassembly_timeout = Span::from_ps(number(value)?),
        "seed" => config.seed = number(value)?,
        _ => return Err("the name of a field"),
    }
    Ok(())
}

fn number<T: FromStr>(value: &str) -> Result<T, &'static str> {
    value.parse().map_err(|_| "a whole number that fits the field")
}

fn sources(value: &str) -> Result<Sources, &'static str> {
    let (shift, bits) = value.split_once('+').ok_or("SHIFT+BITS")?;
    Ok(Sources { shift: number(shift)?, bits: number(bits)? })
}

fn spelled<T: FromStr<Err = ParseConfigError>>(value: &str) -> Result<T, &'static str> {
    value.parse().map_err(|error: ParseConfigError| error.expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_configuration_reads_back_from_its_line() {
        let config =
            BackendConfig::new(3, Policy::KeyHash).slots(99).queue_bound(5).scrub(ScrubMode::AfterNack).seed(u64::MAX);
        let config = config.mtu(Mtu::try_new(1408).unwrap()).domain(DomainId(4)).reassembly_timeout(Span::from_ps(17));
        assert_eq!(config.to_string().parse(), Ok(config));
        assert!(!config.to_string().contains('\n') && !config.to_string().contains("per_peer"));
        let config = config.incomplete_per_peer(0).slot_order(SlotOrder::FirstWhenEmpty);
        assert_eq!(config.to_string().parse(), Ok(config));
        assert!(!config.to_string().contains("sources"));
        let config = config.sources(Sources { shift: 18, bits: 14 });
        assert_eq!(config.to_string().parse(), Ok(config));
        assert!(!config.to_string().contains("tenants"));
        let config = config.tenants(Tenants::new(28, &[1, 255, 3]));
        assert!(config.to_string().ends_with(" tenants=28+1,255,3"));
        assert_eq!(config.to_string().parse(), Ok(config));
        let darc = BackendConfig::new(3, Policy::Darc).types(7).type_window(99);
        assert!(darc.to_string().ends_with(" types=7 type_window=99"));
        assert_eq!(darc.to_string().parse(), Ok(darc));
        let custom = BackendConfig::new(3, Policy::default()).custom("own".parse().unwrap());
        assert!(custom.to_string().contains(" policy=custom:own "));
        assert_eq!(custom.to_string().parse(), Ok(custom));
    }

    #[test]
    fn a_bad_word_is_named() {
        for word in [
            "slots=many",
            "cores",
            "mtu_bytes=65",
            "policy=fifo",
            "scrub=never",
            "slot_order=any",
            "sources=3",
            "tenants=3",
            "tenants=28+1,256",
            "tenants=0+1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
            "color=red",
            "cores=65536",
        ] {
            let error = word.parse::<BackendConfig>().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
