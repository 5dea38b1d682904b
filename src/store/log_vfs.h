// A SQLite VFS that writes each commit to the write-ahead log with one system call.
//
// SQLite writes a commit to its log frame by frame, and each frame in two parts: a header of 24
// bytes and a page. A small batch is ten frames, twenty system calls; together they cost the
// writer more than the copying of the bytes. This VFS holds back frames that follow one another in
// the file until the frame that carries the commit mark has come, and then writes them all at once
// - inside that same call, so that SQLite knows of no delay: when it goes on to publish the commit,
// the file has it, and a failed write fails the commit.
//
// Only the log of the writing connection is treated so. Everything else is the default VFS.
#pragma once

namespace ff::store {

/// The name to open a connection with; registers the VFS at the first call. Null, which means the
/// default to SQLite, when that is not the one this was made for.
const char* log_vfs_name();

}  // namespace ff::store
