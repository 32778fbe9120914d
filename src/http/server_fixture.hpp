// The frame of the server's tests: a server on a free port whose handler the test fills in.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "http/server.hpp"
#include "http/test_client.hpp"

namespace jobbie::http {

class ServerTest : public testing::Test {
 protected:
  /// A handler outlives the test's body, so it may keep what it needs, or the frame's, and refer to
  /// nothing of the body's own unless the body stops the server. By default a request is answered
  /// with its method, path and body.
  ServerTest() {
    handler.on_request = [](const Request& request, Responder responder) {
      std::string body(request.method_text);
      body += " ";
      body += request.path;
      body += " ";
      body += request.body;
      responder.send(200, "text/plain", body);
    };
  }
  ~ServerTest() override {
    if (server) server->stop();
    kept.clear();  // responders go before their server
  }

  void start() {
    auto made = Server::listen(options, handler);
    ASSERT_TRUE(made.has_value());
    server = std::move(*made);
    server->start();
  }

  /// Makes the handler keep every responder, in order, with its path, and note hang-ups.
  void keep_responders() {
    handler.on_request = [this](const Request& request, Responder responder) {
      responder.on_hang_up([this, path = std::string(request.path)] { note("gone " + path); });
      kept.push_back(std::move(responder));
      note("kept " + std::string(request.path));
    };
  }

  /// Answers the kept responder of that number, from this thread.
  void release(std::size_t number, std::string body) {
    server->loop(0).post(
        [this, number, text = std::move(body)] { kept[number].send(200, "text/plain", text); });
  }

  /// Makes the handler note every request and answer with that body.
  void note_and_answer(std::string body) {
    handler.on_request = [this, text = std::move(body)](const Request&, Responder responder) {
      note("handled");
      responder.send(200, "text/plain", text);
    };
  }

  /// Waits until no connection is left; false after ten seconds. One that is not accepted yet does
  /// not count, so see a request handled first.
  bool wait_until_empty() const {
    for (int i = 0; i < 1000 && server->connections() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return server->connections() == 0;
  }

  void note(std::string what) {
    const std::lock_guard lock(mutex);
    notes.push_back(std::move(what));
    changed.notify_all();
  }
  /// Waits for the `number`th note and gives it; empty after ten seconds.
  std::string noted(std::size_t number) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(10), [&] { return notes.size() > number; });
    return notes.size() > number ? notes[number] : "";
  }
  std::size_t note_count() {
    const std::lock_guard lock(mutex);
    return notes.size();
  }

  ServerOptions options;
  TestHandler handler;
  std::vector<Responder> kept;  ///< on the loop's thread
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> notes;
  std::unique_ptr<Server> server;
};

}  // namespace jobbie::http
