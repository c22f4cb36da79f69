//! Logging to stderr.

use crate::config::LogConfig;
use slog::{Drain, Level, LevelFilter, Logger, o};

/// A logger, and what writes the rest of its messages when it is dropped.
pub fn logger(name: &'static str, config: LogConfig) -> (Logger, slog_async::AsyncGuard) {
    let decorator = slog_term::PlainDecorator::new(std::io::stderr());
    let format = slog_term::FullFormat::new(decorator).build().fuse();
    let (drain, guard) = slog_async::Async::new(format).build_with_guard();
    let log = Logger::root(LevelFilter::new(drain, config.level).fuse(), o!("name" => name));
    (log, guard)
}

/// The logger of an HTTP server. Dropshot has a message for each request, which is too much unless
/// someone wants to know.
pub fn http_logger(log: &Logger) -> Logger {
    if log.is_enabled(Level::Debug) {
        return log.clone();
    }
    Logger::root(LevelFilter::new(log.clone(), Level::Warning).fuse(), o!())
}
