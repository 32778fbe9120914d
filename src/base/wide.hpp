// 128-bit integers, for products that must not overflow. Both supported compilers have them.
#pragma once

namespace jobbie::base {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

}  // namespace jobbie::base
