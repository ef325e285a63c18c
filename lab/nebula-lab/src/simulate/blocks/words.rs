//! Value syntax of the block level: rates, a bandwidth, and changes of machines and designs.

use std::str::FromStr;

use nebula_workload::Rate;

use crate::Failure;

/// Rates: `22MRPS`, `5,10,22MRPS` or `5..25MRPS:9`; the last unit applies to bare numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates(pub(super) Vec<Rate>);

impl Rates {
    const COUNT_MAX: usize = 10_000;
    /// Below the first the server is idle, and no link carries the last.
    const BOUNDS_RPS: std::ops::RangeInclusive<f64> = 1e3..=1e9;

    fn list(text: &str) -> Option<Vec<Rate>> {
        let unit = unit_of(text);
        text.split(',').map(|rate| read(rate, unit)).collect()
    }

    fn range(text: &str) -> Option<Vec<Rate>> {
        let (first, rest) = text.split_once("..")?;
        let (last, count) = rest.split_once(':')?;
        let unit = unit_of(last);
        let (first, last) = (read(first, unit)?.as_rps(), read(last, unit)?.as_rps());
        let count: usize = count.trim().parse().ok().filter(|count| (2..=Self::COUNT_MAX).contains(count))?;
        let at = |step: usize| first + (last - first) * step as f64 / (count - 1) as f64;
        (0..count).map(|step| Rate::try_new(at(step).round()).ok()).collect()
    }
}

fn unit_of(text: &str) -> &str {
    text.rfind(|char: char| char.is_ascii_digit() || char == '.').map_or("", |last| &text[last + 1..])
}

fn read(text: &str, unit: &str) -> Option<Rate> {
    let text = text.trim();
    let is_bare = text.ends_with(|char: char| char.is_ascii_digit() || char == '.');
    if is_bare { format!("{text}{unit}").parse().ok() } else { text.parse().ok() }
}

impl FromStr for Rates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rates = Self::range(text).or_else(|| Self::list(text)).filter(|rates| rates.len() <= Self::COUNT_MAX);
        let Some(rates) = rates else {
            return Err(format!("expected rates such as 22MRPS, 5,10,22MRPS or 5..25MRPS:9, not {text:?}"));
        };
        match rates.iter().find(|rate| !Self::BOUNDS_RPS.contains(&rate.as_rps())) {
            Some(rate) => Err(format!("give rates from 1k to 1G RPC/s, not {rate} RPC/s")),
            None => Ok(Self(rates)),
        }
    }
}

/// The DRAM bandwidth of another program, in 10⁹ bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hog(pub(super) f64);

impl FromStr for Hog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("GB/s", 1.0), ("MB/s", 1e-3)];
        let read = |&(unit, gb): &(&str, f64)| Some(text.strip_suffix(unit)?.trim_end().parse::<f64>().ok()? * gb);
        let wrong = || format!("expected a bandwidth such as 5GB/s or 500MB/s, up to 10000GB/s, not {text:?}");
        units.iter().find_map(read).filter(|hog| (0.0..=10_000.0).contains(hog)).map(Self).ok_or_else(wrong)
    }
}

/// `--set KEY=VALUE`: a key of a machine's or a design's TOML.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    sections: Vec<String>,
    key: String,
    value: toml::Value,
}

impl FromStr for Set {
    type Err = String;

    /// A value that is no number, truth value or list is a text.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a key and a value such as memory.dram.banks=32, not {text:?}");
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let mut sections: Vec<String> = path.split('.').map(|word| word.trim().to_owned()).collect();
        if sections.iter().any(String::is_empty) || value.trim().is_empty() {
            return Err(wrong());
        }
        let read = format!("v = {}", value.trim()).parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
        let value = read.unwrap_or_else(|| toml::Value::String(value.trim().to_owned()));
        let key = sections.pop().ok_or_else(wrong)?;
        Ok(Self { sections, key, value })
    }
}

/// All changes: a machine's keys are in sections, a design's are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) machine: toml::Table,
    pub(super) design: toml::Table,
}

impl Changes {
    /// Fails if a key is a section as well.
    pub(super) fn of(all: &[Set]) -> Result<Self, Failure> {
        let mut changes = Self::default();
        for Set { sections, key, value } in all {
            let mut table = if sections.is_empty() { &mut changes.design } else { &mut changes.machine };
            for section in sections {
                let next = table.entry(section.clone()).or_insert_with(|| toml::Table::new().into());
                table = next.as_table_mut().ok_or_else(|| {
                    Failure::bad_input(format!("--set: {section} is set as a key, and as a section of {key} as well"))
                })?;
            }
            table.insert(key.clone(), value.clone());
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_a_list_or_equal_steps_and_the_last_unit_counts_for_all() {
        let read = |text: &str| {
            let rates = text.parse::<Rates>();
            rates.map(|rates| rates.0.iter().map(|rate| rate.as_rps()).collect::<Vec<_>>())
        };
        assert_eq!(read("22MRPS"), Ok(vec![22e6]));
        assert_eq!(read("22200k"), Ok(vec![22.2e6]));
        assert_eq!(read("5, 10.5,22MRPS"), Ok(vec![5e6, 10.5e6, 22e6]));
        assert_eq!(read("500k,2M"), Ok(vec![5e5, 2e6]));
        assert_eq!(read("5..25MRPS:5"), Ok(vec![5e6, 10e6, 15e6, 20e6, 25e6]));
        assert_eq!(read("800k..1M:2"), Ok(vec![8e5, 1e6]));
        for wrong in ["", "fast", "5..25M", "5..25M:1", "5..25M:20000", "5M,", "NaN", "-5M", "..:", "5..x:3", "inf"] {
            assert!(read(wrong).is_err_and(|error| error.contains("5..25MRPS:9")), "{wrong}");
        }
        for beyond in ["999", "1.1G", "5,22"] {
            assert!(read(beyond).is_err_and(|error| error.contains("1k to 1G")), "{beyond}");
        }
    }

    #[test]
    fn what_is_set_has_a_key_and_a_value() {
        let set = |text: &str| text.parse::<Set>().map(|set| (set.sections.join("/"), set.key, set.value));
        assert_eq!(set("memory.dram.banks=32"), Ok(("memory/dram".into(), "banks".into(), 32.into())));
        assert_eq!(set("policy = jbsq:4"), Ok((String::new(), "policy".into(), "jbsq:4".into())));
        assert_eq!(set("steering=true"), Ok((String::new(), "steering".into(), true.into())));
        for wrong in ["", "banks", "=3", "a..b=3", "banks="] {
            assert!(set(wrong).is_err_and(|error| error.contains("memory.dram.banks=32")), "{wrong}");
        }
    }

    #[test]
    fn a_bandwidth_has_its_unit() {
        let read = |text: &str| text.parse::<Hog>().map(|hog| hog.0);
        assert_eq!([read("5GB/s"), read("0.5 GB/s"), read("250MB/s")], [Ok(5.0), Ok(0.5), Ok(0.25)]);
        for wrong in ["5", "", "GB/s", "-1GB/s", "NaNGB/s", "infGB/s", "20000GB/s", "5Gbps"] {
            assert!(read(wrong).is_err_and(|error| error.contains("such as 5GB/s")), "{wrong}");
        }
    }
}
