// In place of libFuzzer where there is none: the inputs that were kept, each of them cut short at
// every length, and nothing at all. It finds little, but a fuzzer that no longer builds or runs is
// noticed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMostCuts = 200;

/// On the heap, in just its size: then a sanitizer sees who reads beyond the end.
void run(const std::string& input, std::size_t size) {
  const auto bytes = std::make_unique<std::uint8_t[]>(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(input[i]);
  LLVMFuzzerTestOneInput(bytes.get(), size);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  run("", 0);
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(file.path(), std::ios::binary);
      const std::string input((std::istreambuf_iterator<char>(in)), {});
      const auto step = input.size() / kMostCuts + 1;
      for (std::size_t size = 0; size < input.size(); size += step) run(input, size);
      run(input, input.size());
      ++inputs;
    }
  }
  std::printf("%zu inputs, whole and cut short\n", inputs);
  return inputs == 0 ? 1 : 0;
}
