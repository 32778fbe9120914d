// How jemalloc manages memory: read by it at the start, by this name.
extern "C" {

/// A thread of its own gives memory back about a second after it was freed. Without it only threads
/// that go on allocating do, and what a burst took would stay with a server that is idle.
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true,dirty_decay_ms:1000";
}
