// What CUDA has and C++ lacks, so that a C++ compiler makes the kernels for this machine: threads run one by one, or,
// where they wait for each other, in turns from one wait to the next.
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
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
alignas(16) static unsigned char near[1 << 17];  // of a block: what one thread leaves there is none of another one's business
extern "C" unsigned char* find_near() { return near; }
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

// Threads of a block that wait for each other: whoever waits lets others run. The lanes of a warp run one after the other,
// each up to where it waits itself, and wait equally often. Which warp is next, and how long it goes on, is left to chance.
static const unsigned STACK = 1 << 16;
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<unsigned> n_waits;
static void wait_for_others() {
  unsigned own = threadIdx.x;
  n_waits[own]++;
  swapcontext(&fibers[own], &scheduler);
}
static bool is_stuck;  // a warp that waits for others, which it lets come next
inline void let_others_go_on() {
  is_stuck = true;
  wait_for_others();
}
static unsigned n_arrived, n_met;
inline void __syncthreads() {
  unsigned before = n_met;
  if (++n_arrived == blockDim.x) n_arrived = 0, n_met++;
  do let_others_go_on();
  while (n_met == before);
}
inline void __syncwarp() { wait_for_others(); }
inline void __threadfence_block() {}

// What a lane shows to its warp. Shown things alternate between two places: one is read while the next is filled.
struct Shown {
  unsigned words[6];
};
static Shown shown[2][1024];
static Shown* show(const Shown& own) {
  Shown* place = shown[n_waits[threadIdx.x] % 2];
  place[threadIdx.x] = own;
  wait_for_others();
  return place + threadIdx.x / 32 * 32;
}
inline unsigned __shfl_xor_sync(unsigned, unsigned own, int apart) {
  return show({{own}})[threadIdx.x % 32 ^ apart].words[0];
}
// mma.m16n8k32 of bytes: lane 4 g + t has rows g and g + 8 of A and column g of B, entries 4 t, ... and 16 + 4 t, ... of
// each, and of the sum columns 2 t and 2 t + 1 of these rows (PTX ISA, "Matrix Fragments for mma.m16n8k32").
inline void multiply_in_warp(int (&sum)[4], const uint4& a, unsigned b0, unsigned b1) {
  Shown* warp = show({{a.x, a.y, a.z, a.w, b0, b1}});
  unsigned lane = threadIdx.x % 32;
  for (unsigned r = 0; r < 4; r++) {
    unsigned row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
    for (unsigned k = 0; k < 32; k++) {
      unsigned t = k % 16 / 4, half = k / 16, shift = k % 4 * 8;
      int first = (signed char)(warp[4 * (row % 8) + t].words[2 * half + row / 8] >> shift);
      int second = (signed char)(warp[4 * column + t].words[4 + half] >> shift);
      sum[r] += first * second;
    }
  }
}

static std::minstd_rand chance;
static unsigned longest_run = 8;  // of a warp, in waits
extern "C" void set_chance(unsigned seed, unsigned longest) {
  chance.seed(seed);
  longest_run = longest;
}
static void (*current)(void**);
static void** current_arguments;
static void begin_fiber() {
  current(current_arguments);
  unsigned own = threadIdx.x;
  n_waits[own] = 0;  // done
  swapcontext(&fibers[own], &scheduler);
}
static void run_together(void (*kernel)(void**), const unsigned* grid, unsigned n_threads, void** arguments) {
  current = kernel;
  current_arguments = arguments;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {n_threads, 1, 1};
  blockIdx = {0, 0, 0};
  std::vector<char> stacks((size_t)STACK * n_threads);
  for (; blockIdx.x < grid[0]; blockIdx.x++) {
    fibers.assign(n_threads, ucontext_t());
    n_waits.assign(n_threads, 1);
    for (unsigned t = 0; t < n_threads; t++) {
      getcontext(&fibers[t]);
      fibers[t].uc_stack.ss_sp = stacks.data() + (size_t)STACK * t;
      fibers[t].uc_stack.ss_size = STACK;
      makecontext(&fibers[t], begin_fiber, 0);
    }
    std::vector<unsigned> warps;  // that are not done
    for (unsigned first = 0; first < n_threads; first += 32) warps.push_back(first);
    while (!warps.empty()) {
      size_t chosen = chance() % warps.size();
      unsigned first = warps[chosen], last = min(first + 32, n_threads);
      is_stuck = false;
      for (unsigned n = 1 + chance() % longest_run; n > 0 && n_waits[first] && !is_stuck; n--)
        for (unsigned t = first; t < last; t++) {
          threadIdx = {t, 0, 0};
          swapcontext(&scheduler, &fibers[t]);
        }
      if (!n_waits[first]) warps.erase(warps.begin() + chosen);
    }
  }
}
template <class... A>
void unpack_and_call(void (*kernel)(A...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<A...>{});
}
#define HOST_TOGETHER(kernel)                                                                          \
  static void unpacked_##kernel(void** arguments) { unpack_and_call(kernel, arguments); }               \
  extern "C" void host_##kernel(const unsigned* grid, unsigned n_threads, void** arguments) {           \
    run_together(unpacked_##kernel, grid, n_threads, arguments);                                        \
  }
