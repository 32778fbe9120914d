// /api/v1/keys and /api/v1/whoami.
#include "face/native/manage.hpp"
#include "face/secret.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Fields kKeyFields(std::to_array<std::string_view>({"name", "scopes", "queues"}));

void write_scopes(Writer& json, std::uint32_t scopes) {
  json.member("scopes").begin_array();
  for (std::size_t i = 0; i < model::kScopeNames.size(); ++i)
    if ((scopes & model::scope_bit(static_cast<model::Scope>(i))) != 0)
      json.plain(model::kScopeNames[i]);
  json.end_array();
}

/// Everything but the bracket that closes the object.
void write_key_members(Writer& json, const model::KeyRecord& key) {
  json.begin_object();
  json.member("id").id(key.id);
  json.member("name").string(key.spec.name.view());
  write_scopes(json, key.spec.scopes);
  write_texts(json, "queues", key.spec.queues);
  json.member("last_four").string(key.spec.last_four.view());
  json.member("created_at").instant(key.id.ulid.time());
}

constexpr Shape<model::KeyRecord> kKeyShape{
    .list = "keys",
    .what = "key",
    .write =
        [](Writer& json, const model::KeyRecord& key, base::Instant /*now*/) {
          write_key_members(json, key);
          json.end_object();
        },
    .name = [](const model::KeyRecord& key) { return key.id.text(); }};

/// The one answer that shows a secret.
class KeyCreated final : public Exchange {
 public:
  KeyCreated(call::Inbox& inbox, std::string secret)
      : Exchange(inbox), secret_(std::move(secret)) {}

 private:
  void render(Answer& out) const override {
    const auto* reply = reply_as<command::KeyReply>(replies[0], out);
    if (reply == nullptr) return;
    out.status = 201;
    Writer json(out.body);
    write_key_members(json, reply->key);
    json.member("secret").plain(secret_);
    json.end_object();
  }

  std::string secret_;
};

class WhoAmI final : public Exchange {
 public:
  explicit WhoAmI(const Input& input) : Exchange(input.inbox), auth_(input.options.require_keys) {}

 private:
  void render(Answer& out) const override {
    Writer json(out.body);
    json.begin_object();
    json.member("auth").boolean(auth_);
    json.member("key");
    if (const auto& key = principal.grant) {
      json.begin_object();
      json.member("id").id(key->key);
      json.member("name").string(key->name);
      json.end_object();
    } else {
      json.null();
    }
    const auto permissions = call::permissions_of(principal);
    write_scopes(json, permissions.scopes);
    write_texts(json, "queues", permissions.queues);
    json.end_object();
  }

  bool auth_;
};

bool read_scopes(Body& body, std::uint32_t& scopes) {
  return body.array(model::kScopeNames.size(), [&](std::size_t) {
    model::Scope scope{};
    if (!body.choice(scope, model::kScopeNames)) return false;
    scopes |= model::scope_bit(scope);
    return true;
  });
}

bool read_key(Body& body, model::KeySpec& key) {
  const bool read = body.object(kKeyFields, [&](std::size_t i) {
    if (i == 0) return body.text(key.name);
    if (i == 1) return read_scopes(body, key.scopes);
    return body.texts(key.queues, model::limits::kKeyQueues) &&
           (!key.queues.empty() || body.refuse_value("must name a queue; left out, it is all"));
  });
  if (!read || !body.finish()) return false;
  if (key.name.empty()) return body.refuse_missing("name");
  if (key.scopes == 0) return body.refuse_missing("scopes");
  if (key.queues.empty()) key.queues.emplace_back("*");
  const bool admin = (key.scopes & model::scope_bit(model::Scope::admin)) != 0;
  const auto everything = [](const base::Blob& glob) { return glob.view() == "*"; };
  if (!admin || std::any_of(key.queues.begin(), key.queues.end(), everything)) return true;
  body.at_field("queues");
  return body.refuse_value(
      R"(must be ["*"] with the scope admin: who makes keys cannot be kept from any queue)");
}

}  // namespace

Outcome key_create(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::CreateKey command;
  Body body(input.request.body);
  if (!read_key(body, command.key)) return std::unexpected(body.problem());
  auto secret = make_secret();
  keep_secret(secret, command.key);
  return call_with(std::make_unique<KeyCreated>(input.inbox, std::move(secret)),
                   std::move(command));
}

Outcome keys(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<ListExchange<model::KeyRecord>>(input.inbox, kKeyShape);
  exchange->query = call::KeysQuery{};
  return exchange;
}

Outcome key_revoke(const Input& input) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  const auto id = base::KeyId::parse(input.id);
  if (!id || id->is_nil()) return std::unexpected(not_found("key", input.id));
  return act(input, command::RevokeKey{*id},
             {.subject = "key_id", .name = input.id, .status = "revoked"});
}

Outcome whoami(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  return std::make_unique<WhoAmI>(input);
}

}  // namespace jobbie::face::native
