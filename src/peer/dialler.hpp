// The connections that we dial, one for each address we were told, kept up for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "peer/link.hpp"

namespace jobbie::peer {

/// All but send() belongs to the transport's thread.
class Dialler : public Link::Owner {
 public:
  explicit Dialler(Common& common);
  ~Dialler() override;

  void set(const std::vector<std::string>& addresses);
  /// Every connection is dropped and made anew at once.
  void redo();
  void tick();
  void stop();

  /// Any thread.
  bool send(std::uint64_t node, std::uint8_t kind, std::string bytes);
  /// Where the node was reached, if it is connected.
  [[nodiscard]] std::optional<asio::ip::tcp::endpoint> endpoint_of(std::uint64_t node) const;
  [[nodiscard]] std::vector<Status> status() const;

 private:
  struct Target {
    explicit Target(Common& common) : timer(common.io), resolver(common.io) {}
    std::string host;
    std::uint16_t port = 0;
    asio::steady_timer timer;
    asio::ip::tcp::resolver resolver;
    std::shared_ptr<Link> link;  ///< see Link
    asio::ip::tcp::endpoint endpoint;
    bool counted = false;      ///< the link is the one that node_id is sent to on
    unsigned failures = 0;     ///< in a row
    std::size_t attempts = 0;  ///< takes the addresses of a name by turns
    std::int64_t opened_ms = 0;
    std::uint64_t old_sent_bytes = 0;  ///< of earlier links
    std::string last_code;
    Status status;
  };
  using Targets = std::map<std::string, std::shared_ptr<Target>>;

  void link_open(Link& link) override;
  void link_frame(Link& link, Frame frame) override;
  void link_closed(Link& link, const base::Error& why) override;

  void attempt(Target& target);
  void attempt_at(Target& target, const asio::ip::tcp::endpoint& endpoint);
  void attempt_later(Target& target, std::int64_t delay_ms);
  void failed(Target& target, const base::Error& why);
  /// The target's connection ends, with the handler told if it could be sent on.
  void disconnect(Target& target);
  void uncount(Target& target);
  [[nodiscard]] Target* find(const Link& link);
  [[nodiscard]] std::int64_t backoff_ms(unsigned failures);

  Common& common_;
  Targets targets_;
  std::minstd_rand random_;
  bool stopped_ = false;
  std::mutex mutex_;                                       ///< guards routes_
  std::map<std::uint64_t, std::shared_ptr<Link>> routes_;  ///< see Link
};

}  // namespace jobbie::peer
