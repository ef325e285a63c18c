//! The workloads that papers use to compare systems, by name.
//!
//! A preset is a spelling of [`ServiceTime`] with its source. If a paper gives shares of a mean,
//! the mean can be chosen: `bimodal-1:10us`.

use crate::error::WorkloadError;
use crate::service::ServiceTime;
use nebula_nic::Span;

/// A workload of a paper.
///
/// # Examples
///
/// ```
/// use nebula_workload::Preset;
///
/// let (preset, service) = Preset::parse("bimodal-1:10us")?;
/// assert_eq!((preset.name, service.mean_ps()), ("bimodal-1", 10e6));
/// assert_eq!(Preset::parse("tpcc")?.1.types().len(), 5);
/// let error = Preset::parse("herd:5us").unwrap_err().to_string();
/// assert!(error.contains("bimodal-1"), "it lists the presets with a choice of mean: {error}");
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its description and source.
    pub what: &'static str,
    service: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// Measured times.
    Measured(&'static str),
    /// Kinds of RPCs: shares in 10,000, and times in ten-thousandths of the mean.
    OfMean(&'static [(u32, u64)]),
    /// A law of one parameter, the mean.
    Law(&'static str),
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset { name: "fixed", what: "all RPCs take the same time", service: Service::Law("fixed") },
    Preset { name: "exponential", what: "exponential times", service: Service::Law("exp") },
    Preset {
        name: "bimodal-1",
        what: "90 % of half the mean, 10 % of 5.5 means (ZygOS; NEBULA's Table I)",
        service: Service::OfMean(&[(9_000, 5_000), (1_000, 55_000)]),
    },
    Preset {
        name: "bimodal-2",
        what: "99.9 % of half the mean, 0.1 % of 500.5 means (ZygOS)",
        service: Service::OfMean(&[(9_990, 5_000), (10, 5_005_000)]),
    },
    Preset {
        name: "high-bimodal",
        what: "half 1 µs, half 100 µs (Perséphone)",
        service: Service::Measured("mix:short=0.5*fixed:1us;long=0.5*fixed:100us"),
    },
    Preset {
        name: "extreme-bimodal",
        what: "99.5 % 0.5 µs, 0.5 % 500 µs (Shinjuku, Perséphone)",
        service: Service::Measured("mix:short=0.995*fixed:500ns;long=0.005*fixed:500us"),
    },
    Preset {
        name: "tpcc",
        what: "TPC-C's five transactions on Silo (Perséphone)",
        service: Service::Measured(
            "mix:payment=0.44*fixed:5700ns;order-status=0.04*fixed:6us;new-order=0.44*fixed:20us;delivery=0.04*fixed:88us;stock-level=0.04*fixed:100us",
        ),
    },
    Preset {
        name: "rocksdb",
        what: "RocksDB, half GETs of 1.5 µs and half SCANs of 635 µs (Perséphone)",
        service: Service::Measured("mix:get=0.5*fixed:1500ns;scan=0.5*fixed:635us"),
    },
    Preset {
        name: "masstree",
        what: "Masstree, 99 % GETs of 1.25 µs and 1 % SCANs of 60 to 120 µs (RPCValet)",
        service: Service::Measured("mix:get=0.99*fixed:1250ns;scan=0.01*uniform:60us-120us"),
    },
    Preset {
        name: "herd",
        what: "HERD, 330 ns on average (RPCValet); the shape is assumed",
        service: Service::Measured("fixed:250ns+exp:80ns"),
    },
    Preset {
        name: "mica",
        what: "MICA, GETs of 700 ns and SETs of 560 ns (NEBULA)",
        service: Service::Measured("mix:get=0.5*fixed:700ns;set=0.5*fixed:560ns"),
    },
];

impl Preset {
    /// Reads `NAME` or `NAME:MEAN`.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Preset`] for an unknown name, or for a mean given with measured times.
    pub fn parse(text: &str) -> Result<(Self, ServiceTime), WorkloadError> {
        let unread = || WorkloadError::Preset { text: text.to_owned(), names: names() };
        let (name, mean) = text.split_once(':').map_or((text, None), |(name, mean)| (name, Some(mean)));
        let preset = *PRESETS.iter().find(|preset| preset.name == name).ok_or_else(unread)?;
        let mean = mean.map(|mean| mean.parse::<Span>().ok().filter(|&mean| mean >= Span::from_ns(1)));
        let service = match (preset.service, mean) {
            (Service::Measured(spelling), None) => spelling.parse()?,
            (Service::Measured(_), Some(_)) | (_, Some(None)) => return Err(unread()),
            (service, mean) => service.of(mean.flatten().unwrap_or(MEAN)).parse()?,
        };
        Ok((preset, service))
    }

    /// Whether its mean can be chosen.
    #[must_use]
    pub const fn has_mean(&self) -> bool {
        !matches!(self.service, Service::Measured(_))
    }
}

/// The mean if none is given.
const MEAN: Span = Span::from_us(1);

impl Service {
    /// The spelling for a mean; one request type per kind, so that schedulers can distinguish them.
    fn of(self, mean: Span) -> String {
        let ps = mean.as_ps();
        match self {
            Self::Measured(spelling) => spelling.to_owned(),
            Self::Law(law) => format!("{law}:{ps}ps"),
            Self::OfMean(kinds) => {
                let kind = |(name, &(share, times)): (&str, &(u32, u64))| {
                    format!("{name}={}*fixed:{}ps", f64::from(share) / 1e4, ps * times / 10_000)
                };
                let kinds = ["short", "long"].into_iter().zip(kinds).map(kind);
                format!("mix:{}", kinds.collect::<Vec<_>>().join(";"))
            }
        }
    }
}

fn names() -> String {
    let name =
        |preset: &Preset| if preset.has_mean() { format!("{}:MEAN", preset.name) } else { preset.name.to_owned() };
    PRESETS.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_the_mean_that_its_words_say() {
        let means = [
            ("fixed", 1e6),
            ("exponential", 1e6),
            ("bimodal-1", 1e6),
            ("bimodal-2", 1e6),
            ("high-bimodal", 50.5e6),
            ("extreme-bimodal", 2.9975e6),
            ("tpcc", 0.44 * 5.7e6 + 0.04 * 6e6 + 0.44 * 20e6 + 0.04 * 88e6 + 0.04 * 100e6),
            ("rocksdb", 318.25e6),
            ("masstree", 0.99 * 1.25e6 + 0.01 * 90e6),
            ("herd", 0.33e6),
            ("mica", 0.63e6),
        ];
        assert_eq!(means.len(), PRESETS.len());
        for (name, mean_ps) in means {
            let (preset, service) = Preset::parse(name).unwrap();
            assert_eq!(preset.name, name);
            assert!((service.mean_ps() / mean_ps - 1.0).abs() < 1e-3, "{name}: {} ps", service.mean_ps());
        }
    }

    #[test]
    fn a_mean_scales_all_kinds() {
        let (_, service) = Preset::parse("bimodal-2:25us").unwrap();
        let long = service.of_type(crate::TypeId(1)).unwrap();
        assert_eq!(long.mean_ps(), 500.5 * 25e6);
        for wrong in ["bimodal-2:", "bimodal-2:fast", "bimodal-2:0ns", "tpcc:5us", "", "bimodal"] {
            assert!(matches!(Preset::parse(wrong), Err(WorkloadError::Preset { .. })), "{wrong}");
        }
    }
}
