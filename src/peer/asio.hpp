// What this folder uses of Asio, in one place. Internal to this folder: it is slow to compile.
#pragma once

// Every handler passes a lock of Asio's, which orders what its fences order too; ThreadSanitizer
// understands locks and does not understand fences.
#if defined(__SANITIZE_THREAD__) && !defined(ASIO_DISABLE_FENCED_BLOCK)
#define ASIO_DISABLE_FENCED_BLOCK
#endif

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
