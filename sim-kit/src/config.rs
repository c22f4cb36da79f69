//! Configuration files.

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::path::Path;

/// The configuration of a simulator.
pub trait Config: DeserializeOwned {
    /// How it logs.
    fn log(&self) -> LogConfig;
}

/// How a simulator logs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// The least important messages that are written: `error`, `warning`, `info` or `debug`. Each
    /// single request is a message of `debug`.
    #[serde(default = "default_level", deserialize_with = "level")]
    pub level: slog::Level,
}

impl Default for LogConfig {
    fn default() -> Self {
        LogConfig { level: default_level() }
    }
}

fn default_level() -> slog::Level {
    slog::Level::Info
}

fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<slog::Level, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|()| serde::de::Error::custom(format!("unknown log level \"{name}\"")))
}

/// Reads a configuration file. The error is one line, and names the file and the line that is bad.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        let message = error.message().replace('\n', " ");
        anyhow!("{}, line {line}: {message}", path.display())
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_one_line() {
        let dir = std::env::temp_dir().join(format!("sim-kit-config-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let file = dir.join("bad.toml");
        for (text, wanted) in [
            ("\nlevel = \"loud\"\n", "line 2: unknown log level \"loud\""),
            ("level = \"info\"\nlevle = 1\n", "line 2: unknown field `levle`, expected `level`"),
            ("level = = 1", "line 1: "),
        ] {
            std::fs::write(&file, text).expect("a file");
            let error = load::<LogConfig>(&file).expect_err(text).to_string();
            assert!(error.contains(wanted), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        std::fs::remove_dir_all(&dir).expect("the directory");
        let error = load::<LogConfig>(&file).expect_err("no file");
        assert!(format!("{error:#}").contains("No such file"), "{error:#}");
    }
}
