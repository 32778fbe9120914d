// A way to end a request that waits, from another thread or from a signal handler.
#pragma once

#include "net/interrupt.hpp"

namespace jobbie::client {

/// Once raised it stays so. raise() may be called from any thread and from a signal handler.
using Interrupt = net::Interrupt;

}  // namespace jobbie::client
