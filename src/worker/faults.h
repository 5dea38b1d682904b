// What errors of the engine mean to a worker. Pure functions.
#pragma once

#include <ff/error.h>

namespace ff::worker {

/// The engine was not reached, or could not do it now: what was asked may or may not have happened,
/// and asking again is right.
inline bool may_pass(const Error& error) {
    const ErrorInfo& row = info(error.code);
    switch (row.kind) {
        case ErrorKind::transport:
        case ErrorKind::timeout:
        case ErrorKind::resource_exhausted: return row.retryable;
        case ErrorKind::unavailable: return true;                  // a server that restarts
        default: return error.code == ErrorCode::retry_exhausted;  // lost races, nothing happened
    }
}

/// The lease is gone for good.
inline bool ends_lease(const Error& error) {
    switch (error.code) {
        case ErrorCode::stale_lease:
        case ErrorCode::lease_expired:
        case ErrorCode::lease_revoked:
        case ErrorCode::execution_not_active:
        case ErrorCode::execution_not_found: return true;
        default: return false;
    }
}

/// Asking again will never help: our credentials or our settings are refused, or the store is
/// damaged. (`corruption` is of single rows; other work goes on.)
inline bool is_fatal(const Error& error) {
    switch (error.code) {
        case ErrorCode::store_corrupt:
        case ErrorCode::unauthorized:
        case ErrorCode::invalid_input:
        case ErrorCode::invalid_capabilities: return true;
        default: return info(error.code).kind == ErrorKind::config;
    }
}

}  // namespace ff::worker
