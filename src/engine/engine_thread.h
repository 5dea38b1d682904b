// The engine's own threads know what they are: a callback that runs on one of them may drop the
// last reference to the engine, which must then be closed by another thread.
#pragma once

#include <pthread.h>

namespace ff::engine {

inline thread_local bool on_engine_thread = false;

/// Called first by each thread of an engine. The name (at most 15 characters) is for debuggers.
inline void enter_engine_thread(const char* name) {
    on_engine_thread = true;
    pthread_setname_np(pthread_self(), name);
}

}  // namespace ff::engine
