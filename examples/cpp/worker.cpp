// A worker in C++: greets people by name, in two threads.
//
//     jobbie enqueue greetings '{"name": "Ada"}'
//     JOBBIE_URL=http://127.0.0.1:8080 ./example_worker
#include <iostream>

#include <jobbie/client.hpp>
#include <jobbie/worker.hpp>

namespace jc = jobbie::client;

namespace {

jc::Outcome greet(jc::Context& context) {
  const auto payload = jc::Document::parse(context.job().payload);
  const std::string name = (*payload)["name"].text();
  // Trying again would not bring the name.
  if (name.empty()) return jc::Outcome::failed_for_good("the payload has no name");
  context.progress(R"({"current": 1, "total": 1})");
  return jc::Outcome::done("{\"greeting\":" + jc::quoted("Hello, " + name + "!") + "}");
}

}  // namespace

int main() {
  const auto options = jc::options_from_environment();
  if (!options) {
    std::cerr << options.error().message << "\n";
    return 2;
  }
  auto client = jc::Client::open(*options);
  if (!client) {
    std::cerr << client.error().message << "\n" << client.error().hint << "\n";
    return 2;
  }
  jc::Worker worker(*client, {.concurrency = 2, .on_note = [](const std::string& text) {
                                std::cerr << text << "\n";
                              }});
  worker.handle("greetings", greet);
  // Until SIGTERM or Ctrl-C: what runs may finish.
  const auto ended = jc::run_until_signal(worker);
  if (!ended) std::cerr << ended.error().message << "\n";
  return ended ? 0 : 1;
}
