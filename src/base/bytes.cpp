// Variable-length numbers and bounded byte strings.
#include "base/bytes.hpp"

namespace jobbie::base {

void ByteWriter::long_var(std::uint64_t v) {
  std::array<char, kLongestVar> buffer;
  std::size_t size = 0;
  while (v >= 0x80) {
    buffer[size++] = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  buffer[size++] = static_cast<char>(v);
  out_.append(buffer.data(), size);
}

std::uint8_t ByteReader::u8() {
  if (in_.empty()) {
    fail();
    return 0;
  }
  const auto v = static_cast<std::uint8_t>(in_.front());
  in_.remove_prefix(1);
  return v;
}

bool ByteReader::boolean() {
  const auto v = u8();
  if (v > 1) fail();
  return v == 1;
}

std::uint64_t ByteReader::var() {
  std::uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = u8();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    if (byte == 0 && shift > 0) break;  // the same number has a shorter form
    v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return v;
  }
  fail();
  return 0;
}

std::int64_t ByteReader::svar() {
  const auto v = var();
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

std::uint64_t ByteReader::var_at_most(std::uint64_t max) {
  const auto v = var();
  if (v <= max) return v;
  fail();
  return 0;
}

std::string_view ByteReader::bytes() {
  const auto size = var();
  if (!ok_ || size > in_.size()) {
    fail();
    return {};
  }
  const auto v = in_.substr(0, static_cast<std::size_t>(size));
  in_.remove_prefix(static_cast<std::size_t>(size));
  return v;
}

std::size_t ByteReader::count(std::size_t min_bytes_each) {
  const auto n = var();
  if (!ok_ || n > in_.size() / (min_bytes_each == 0 ? 1 : min_bytes_each)) {
    fail();
    return 0;
  }
  return static_cast<std::size_t>(n);
}

}  // namespace jobbie::base
