// What CUDA has and C++ lacks, so that a C++ compiler makes the kernels for this machine: threads run one by one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
using std::max;
using std::min;

struct dim3_ {
  unsigned x, y, z;
};
static dim3_ blockIdx, threadIdx, blockDim, gridDim;
struct int2 {
  int x, y;
};
struct int4 {
  int x, y, z, w;
};
static unsigned char near[1 << 16];  // of a block: what one thread leaves there is none of another one's business
struct uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }

template <class To, class From>
inline To as_bits(From x) {
  To y;
  static_assert(sizeof(To) == sizeof(From), "");
  std::memcpy(&y, &x, sizeof y);
  return y;
}
inline float __int_as_float(int x) { return as_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return as_bits<unsigned>(x); }
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return n ? high << n | low >> (32 - n) : high;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
template <class T>
inline T __ldg(const T* place) {
  return *place;
}
template <class T, class U>
inline void atomicAdd(T* place, U x) {
  *place += x;
}

template <class... A, std::size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}
template <class... A>
void run(void (*kernel)(A...), const unsigned* grid, unsigned n_threads, void** arguments) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {n_threads, 1, 1};
  threadIdx = {0, 0, 0};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < n_threads; threadIdx.x++)
          call(kernel, arguments, std::index_sequence_for<A...>{});
}
#define HOST(kernel)                                                                                   \
  extern "C" void host_##kernel(const unsigned* grid, unsigned n_threads, void** arguments) {           \
    run(kernel, grid, n_threads, arguments);                                                            \
  }
