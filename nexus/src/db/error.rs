//! Errors of the database, and what becomes of them.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use nexus_common::{Error, ResourceType};

/// Why a transaction did not end well: the database's reason, or ours.
#[derive(Debug)]
pub enum TxError {
    Database(DieselError),
    Refused(Error),
}

impl From<DieselError> for TxError {
    fn from(error: DieselError) -> Self {
        TxError::Database(error)
    }
}

impl From<Error> for TxError {
    fn from(error: Error) -> Self {
        TxError::Refused(error)
    }
}

/// What closures of transactions return.
pub type TxResult<T> = Result<T, TxError>;

/// Unique indexes on which losing a race is no fault of the caller: running the transaction again
/// finds another address, interface, generation or network.
const RETRYABLE_INDEXES: &[&str] = &[
    "external_ip_address",
    "external_ip_ephemeral",
    "ip_pool_free_address_pkey",
    "ip_pool_snat_address_pkey",
    "ip_pool_silo_default",
    "nat_entry_address",
    "nat_entry_generation",
    "network_interface_ipv4",
    "network_interface_ipv6",
    "network_interface_mac",
    "network_interface_slot",
    "vpc_vni",
];

/// What the database said of a statement, as far as it decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run the transaction again.
    Retry,
    /// The connection or the server went away. The transaction may or may not have committed.
    Lost,
    /// Neither.
    Failed,
}

/// Judges an error of the database.
pub fn judge(error: &DieselError) -> Verdict {
    match error {
        DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Verdict::Retry,
        DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, info)
            if info.constraint_name().is_some_and(|name| RETRYABLE_INDEXES.contains(&name)) =>
        {
            Verdict::Retry
        }
        // diesel has no kind for SQLSTATE 40P01.
        DieselError::DatabaseError(_, info) if info.message().contains("deadlock detected") => {
            Verdict::Retry
        }
        DieselError::DatabaseError(DatabaseErrorKind::ClosedConnection, _)
        | DieselError::BrokenTransactionManager => Verdict::Lost,
        // The second kind is that of a statement that never left this process.
        DieselError::DatabaseError(
            DatabaseErrorKind::Unknown | DatabaseErrorKind::UnableToSendCommand,
            info,
        ) if is_connection_loss(info.message()) => Verdict::Lost,
        _ => Verdict::Failed,
    }
}

/// libpq reports these in words alone.
fn is_connection_loss(message: &str) -> bool {
    [
        "server closed the connection",
        "no connection to the server",
        "could not receive data from server",
        "could not send data to server",
        "terminating connection",
        "the database system is",
        "SSL connection has been closed",
        "connection to server",
    ]
    .iter()
    .any(|m| message.contains(m))
}

/// Turns a violation of the unique index `index` into "already exists"; every other error passes.
pub fn taken(
    index: &'static str,
    resource: ResourceType,
    name: &str,
) -> impl FnOnce(DieselError) -> TxError {
    move |error| match &error {
        DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, info)
            if info.constraint_name() == Some(index) =>
        {
            TxError::Refused(Error::already_exists(resource, name))
        }
        _ => TxError::Database(error),
    }
}
