//! The parts of a rack and their names.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::str::FromStr;

/// A part of a rack: one process. The number is its index in the ready file's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rack's own database.
    Postgres,
    /// The switch with this index.
    Dpd(usize),
    /// The sled with this index.
    SledAgent(usize),
    /// The Nexus with this index.
    Nexus(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Postgres => f.write_str("postgres"),
            Part::Dpd(index) => write!(f, "dpd-{index}"),
            Part::SledAgent(index) => write!(f, "sled-agent-{index}"),
            Part::Nexus(index) => write!(f, "nexus-{index}"),
        }
    }
}

impl FromStr for Part {
    type Err = anyhow::Error;
    fn from_str(name: &str) -> Result<Self> {
        if name == "postgres" {
            return Ok(Part::Postgres);
        }
        let (kind, index) = name.rsplit_once('-').context("a part's name ends in a number")?;
        let index = index.parse().context("a part's name ends in a number")?;
        match kind {
            "dpd" => Ok(Part::Dpd(index)),
            "sled-agent" => Ok(Part::SledAgent(index)),
            "nexus" => Ok(Part::Nexus(index)),
            _ => bail!("no part of a rack is called {kind}"),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn names_read_as_they_print() {
        for part in [Part::Postgres, Part::Dpd(0), Part::SledAgent(11), Part::Nexus(2)] {
            assert_eq!(part.to_string().parse::<Part>().expect("a part"), part);
        }
        "sled-agent".parse::<Part>().expect_err("no number");
        "cat-1".parse::<Part>().expect_err("no such kind");
    }
}
