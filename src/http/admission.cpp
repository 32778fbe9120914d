// Counting connections under one lock: it is taken when one comes or goes, never for a request.
#include "http/admission.hpp"

#include <chrono>

#include "base/check.hpp"

namespace jobbie::http {

Admission::Outcome Admission::admit(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (total_ >= at_most_) return Outcome::full;
  std::size_t& same = by_address_[address];
  if (same >= at_most_per_address_) {
    if (same == 0) by_address_.erase(address);
    return Outcome::address_full;
  }
  ++same;
  ++total_;
  return Outcome::admitted;
}

void Admission::release(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = by_address_.find(address);
  JOBBIE_CHECK(found != by_address_.end() && total_ > 0);
  if (--found->second == 0) by_address_.erase(found);
  if (--total_ == 0) none_.notify_all();
}

std::size_t Admission::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

bool Admission::wait_for_none(base::Duration at_most) {
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, std::chrono::milliseconds(at_most.ms),
                        [this] { return total_ == 0; });
}

}  // namespace jobbie::http
