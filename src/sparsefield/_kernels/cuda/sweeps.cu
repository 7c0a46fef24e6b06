// Gibbs sweeps over chains of binary fields held one bit each.
//
// Line i of a plane has the bits of variable i, 32 chains a word, one word after the other: neighbouring threads read
// neighbouring words. A thread keeps to its own chains, whose updates need nothing of other threads; it has as many as
// the bits of W.
//
// Weights exp(-log-odds) are multiplied up (form 0), or log-odds are added up in whole numbers of 2^-shift bits and
// exponentiated (form 1). A variable is one where u w <= v, with u + v = 2^32 - 1: probabilities 1 / (1 + w) are right
// to 2^-23 q (1 - q) + 2^-31, and what is drawn never falls as w falls. Weights never rise as log-odds rise: an
// entry of a table is on its side of one, products and sums round monotonically, and `exponentiate` is that of the
// processors' kernels, bit for bit.

enum { PRODUCT, SUM };

// Units of log-odds, 2^-shift bits: half and all of a bit's number of them, and a unit as a float.
struct __align__(16) Unit {
  int shift, half, minus_one;
  float size;
};

__device__ __forceinline__ Unit make_unit(int shift) {
  return {shift, 1 << (shift - 1), -(1 << shift), __int_as_float((127 - shift) << 23)};
}

// 2^(z / 2^shift) as in `_bytes.exponentiate`.
__device__ __forceinline__ float exponentiate(int z, const Unit& unit) {
  int n = (z + unit.half) >> unit.shift;
  float x = __int2float_rn(z + n * unit.minus_one) * unit.size;
  float y = __fmaf_rn(__fmaf_rn(__fmaf_rn(0.00015461444655f, x, 0.0013400428162f), x, 0.0096180566811f), x,
                      0.055503272264f);
  y = __fmaf_rn(__fmaf_rn(__fmaf_rn(y, x, 0.24022650872f), x, 0.69314720727f), x, 1.0f);
  n = min(max(n, -126), 126);
  return y * __int_as_float((n + 127) << 23);
}

template <int FORM>
struct Total;

template <>
struct Total<PRODUCT> {
  float value;
  __device__ __forceinline__ void begin(int base) { value = __int_as_float(base); }
  __device__ __forceinline__ void add(int entry) { value = __fmul_rn(value, __int_as_float(entry)); }
  __device__ __forceinline__ float weight(int) const { return value; }
  static __device__ __forceinline__ bool is_positive(int entry) { return __int_as_float(entry) < 1.0f; }
};

template <>
struct Total<SUM> {
  int value;
  __device__ __forceinline__ void begin(int base) { value = base; }
  __device__ __forceinline__ void add(int entry) { value += entry; }
  __device__ __forceinline__ float weight(int shift) const { return exponentiate(value, make_unit(shift)); }
  static __device__ __forceinline__ bool is_positive(int entry) { return entry < 0; }
};

#define THREADS 64  // of a block

// PLANES is 1, chains; 2, the least and the largest states of chains from any start; 3, these and a chain between them.
//
// heads (n_order + 1) have a line, the end of its edges, what totals begin with and a shift, in the order of updates;
// edges have a line and an entry each, in the same order, GROUP more at the end, and are filled up to multiples of it
// with entries that change nothing. The words of a group are asked for together. done, where it is given, has ones for
// words of 32 chains that need no sweeps; kept has ones for bits that must stay.
//
// A thread reads and writes its words where they are, or in memory that its processor shares out (IS_NEAR), which is
// faster where there are few threads and they wait.
template <int PLANES, int FORM, typename W, bool IS_NEAR, int GROUP, bool IS_KEPT>
__device__ __forceinline__ void sweep(W* states, uint4* streams, const int4* heads, const int2* edges, const W* kept,
                                      const u8* done, u32 n_lines, u64 n_words, int n_order, int n_sweeps) {
  const int N = 8 * sizeof(W), GROUPS = sizeof(W);
  const bool IS_EARLY = PLANES == 1 && N == 8;  // random numbers are drawn while the first words of a variable come
  u64 t = blockIdx.x * (u64)THREADS + threadIdx.x;
  if (t >= n_words || (done && done[t * sizeof(W) / 4])) return;
#ifdef __CUDA_ARCH__
  extern __shared__ u8 near[];
#endif
  W* own = IS_NEAR ? (W*)near + threadIdx.x : states + t;
  const u32 stride = IS_NEAR ? THREADS : (u32)n_words;
  if (IS_NEAR)
    for (u32 i = 0; i < PLANES * n_lines; i++) own[i * stride] = states[i * n_words + t];
  uint4 s[GROUPS];
#pragma unroll
  for (int g = 0; g < GROUPS; g++) s[g] = streams[t * GROUPS + g];
  for (int n = 0; n < n_sweeps; n++) {
    int4 head = __ldg(heads);
    int2 next[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; g++) next[g] = __ldg(edges + g);
    for (int k = 0, e = 0; k < n_order; k++) {
      int line = head.x, last = head.y, shift = head.w;
      Total<FORM> total[PLANES][N];
#pragma unroll
      for (int q = 0; q < PLANES; q++)
#pragma unroll
        for (int c = 0; c < N; c++) total[q][c].begin(head.z);
      head = __ldg(heads + k + 1);
      W words[GROUP][PLANES];
      auto ask = [&] {
#pragma unroll
        for (int g = 0; g < GROUP; g++)
#pragma unroll
          for (int q = 0; q < PLANES; q++) words[g][q] = own[(u64)(next[g].x + q * n_lines) * stride];
      };
      u32 bits[N];
      if (IS_EARLY) {
        ask();
#pragma unroll
        for (int c = N - 1; c >= 0; c--) bits[c] = draw(s[c / 8]);
      }
#pragma unroll 1
      while (e < last) {
        if (!IS_EARLY) ask();
        int entries[GROUP];
        e += GROUP;
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
          entries[g] = next[g].y;
          next[g] = __ldg(edges + e + g);
        }
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
          if (PLANES > 1 && !Total<FORM>::is_positive(entries[g])) {
            W least = words[g][0];
            words[g][0] = words[g][PLANES > 1];
            words[g][PLANES > 1] = least;
          }
#pragma unroll
          for (int q = 0; q < PLANES; q++)
#pragma unroll
            for (int c = 0; c < N; c++)
              if (words[g][q] >> c & 1) total[q][c].add(entries[g]);
        }
        if (IS_EARLY && e < last) ask();
      }
      u32 zeros[PLANES];
#pragma unroll
      for (int q = 0; q < PLANES; q++) zeros[q] = 0;
#pragma unroll
      for (int c = N - 1; c >= 0; c--) {
        if (!IS_EARLY) bits[c] = draw(s[c / 8]);
        float u = __uint2float_rn(bits[c]), v = __uint2float_rn(~bits[c]);
#pragma unroll
        for (int q = 0; q < PLANES; q++) {
          float found = __fmaf_rn(-u, total[q][c].weight(shift), v);  // below zero, its first bit is one
          zeros[q] = __funnelshift_l(__float_as_uint(found), zeros[q], 1);
        }
      }
#pragma unroll
      for (int q = 0; q < PLANES; q++) {
        W* place = own + (u64)(line + q * n_lines) * stride;
        W found = (W)~zeros[q];
        if (IS_KEPT) {
          W stays = kept[line * n_words + t];
          found = (W)((found & ~stays) | (*place & stays));
        }
        *place = found;
      }
    }
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) streams[t * GROUPS + g] = s[g];
  if (IS_NEAR)
    for (u32 i = 0; i < PLANES * n_lines; i++) states[i * n_words + t] = own[i * stride];
}

// A kernel: whoever compiles this says which. Most sweeps keep nothing, and are faster where they need not ask.
#define SWEEP(PLANES, NAME, FORM, BITS, PLACE, IS_NEAR, GROUP)                                                      \
  extern "C" __global__ void __launch_bounds__(THREADS) sweep_##NAME##_##PLANES##_##PLACE##BITS##_##GROUP(          \
      u##BITS* states, uint4* streams, const int4* heads, const int2* edges, const u##BITS* kept, const u8* done,   \
      u32 n_lines, u64 n_words, int n_order, int n_sweeps) {                                                       \
    if (kept)                                                                                                      \
      sweep<PLANES, FORM, u##BITS, IS_NEAR, GROUP, true>(states, streams, heads, edges, kept, done, n_lines,        \
                                                         n_words, n_order, n_sweeps);                              \
    else                                                                                                           \
      sweep<PLANES, FORM, u##BITS, IS_NEAR, GROUP, false>(states, streams, heads, edges, kept, done, n_lines,       \
                                                          n_words, n_order, n_sweeps);                             \
  }
