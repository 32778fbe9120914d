// A socket as OpenSSL reads and writes it: like its own, except that a peer that has gone is an
// error and never SIGPIPE, which a library must not count on being ignored.
#pragma once

struct bio_st;

namespace jobbie::base {

/// For SSL_set_bio, which takes it over; the descriptor stays the caller's. Null if there is no
/// memory.
bio_st* new_socket_bio(int descriptor);

}  // namespace jobbie::base
