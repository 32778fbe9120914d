// The makers of the dialects, for make_dialect alone.
#pragma once

#include <memory>

#include "bench/load/dialect.hpp"

namespace jobbie::bench::load {

[[nodiscard]] std::unique_ptr<Dialect> make_jobbie_dialect(DialectOptions options);
[[nodiscard]] std::unique_ptr<Dialect> make_beanstalkd_dialect(DialectOptions options);
[[nodiscard]] std::unique_ptr<Dialect> make_nats_dialect(DialectOptions options);
[[nodiscard]] std::unique_ptr<Dialect> make_faktory_dialect(DialectOptions options);

}  // namespace jobbie::bench::load
