// Golden files: named byte strings as hex text, with comments. Made anew by running the tests with
// JOBBIE_WRITE_GOLDEN=1, which is right only for a new format version or a new record: bytes that
// a release has written must stay readable, so existing records are never rewritten to fit.
//
// `== name` begins a record, `#` a comment; all else is hex digits, white space ignored.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jobbie::testing {

using GoldenRecords = std::vector<std::pair<std::string, std::string>>;

/// tests/golden in the source tree: from the build, else from this file's own path, else from a
/// folder above the working directory.
inline std::filesystem::path golden_folder() {
#ifdef JOBBIE_SOURCE_DIR
  return std::filesystem::path(JOBBIE_SOURCE_DIR) / "tests" / "golden";
#else
  namespace fs = std::filesystem;
  const auto beside = fs::path(__FILE__).parent_path().parent_path() / "golden";
  if (beside.is_absolute()) return beside.lexically_normal();
  for (auto folder = fs::current_path();; folder = folder.parent_path()) {
    if (fs::exists(folder / "tests" / "golden")) return folder / "tests" / "golden";
    if (folder == folder.root_path()) return beside;
  }
#endif
}

inline bool writing_golden() {
  const char* wanted = std::getenv("JOBBIE_WRITE_GOLDEN");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

inline std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kBytesPerLine = 32;
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
    out += i % kBytesPerLine == kBytesPerLine - 1 || i + 1 == bytes.size() ? '\n' : ' ';
  }
  return out;
}

inline void append_hex(std::string_view line, std::string& digits, std::string& bytes) {
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
}

/// The records of tests/golden/`name`; none if there is no such file.
inline GoldenRecords read_golden(const std::string& name) {
  std::ifstream file(golden_folder() / name);
  GoldenRecords records;
  std::string digits;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("== ")) {
      records.emplace_back(line.substr(3), "");
    } else if (!records.empty()) {
      append_hex(line, digits, records.back().second);
    }
  }
  return records;
}

inline void write_golden(const std::string& name, std::string_view comment,
                         const GoldenRecords& records) {
  std::ofstream file(golden_folder() / name);
  file << "# " << comment
       << "\n# Made with JOBBIE_WRITE_GOLDEN=1; see tests/support/golden_file.hpp.\n";
  for (const auto& [title, bytes] : records) file << "\n== " << title << '\n' << to_hex(bytes);
}

}  // namespace jobbie::testing
