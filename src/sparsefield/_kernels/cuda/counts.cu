// Counts of common ones on lines of bits, and sums of weights over them.
//
// Lines (n_lines, n_words) have 32 draws a word. Whole numbers are added up in any order, and floats in an order that
// depends on the sizes alone.

// Add what the lanes of a warp have, once.
__device__ __forceinline__ void add_warp(int* place, int value) {
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
  value = __reduce_add_sync(~0u, value);
#else
  for (int n = 16; n; n /= 2) value += __shfl_down_sync(~0u, value, n);
#endif
  if (threadIdx.x % 32) return;
#endif
  atomicAdd(place, value);
}

#define SIDE 4  // lines and columns of a tile

// Three bits are two: their sum and their carry.
__device__ __forceinline__ u32 add_bits(u32& sum, u32 a, u32 b) {
  u32 carry = (sum & a) | (sum & b) | (a & b);
  sum ^= a ^ b;
  return carry;
}

// Add the common ones of all pairs of lines, where mask (n_words) has ones, to counts (n_lines, n_lines), upper part.
//
// A warp has a tile of 4 x 4 pairs and a run of words, four at a time for each lane: carries are kept as bits, and fours
// alone are counted. n_words is a multiple of 4.
extern "C" __global__ void count_pairs(const uint4* lines, const uint4* mask, u32 n_lines, u64 n_fours, u64 n_each,
                                       int* counts) {
  u32 top = SIDE * blockIdx.y, left = SIDE * blockIdx.x;
  if (left + SIDE <= top) return;
  u64 first = blockIdx.z * n_each, last = min(first + n_each, n_fours);
  u32 ones[SIDE][SIDE], twos[SIDE][SIDE];
  int fours[SIDE][SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) ones[i][j] = twos[i][j] = fours[i][j] = 0;
  for (u64 w = first + threadIdx.x; w < last; w += 32) {
    uint4 own = mask[w], rows[SIDE], columns[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
      rows[i] = lines[min(top + i, n_lines - 1) * n_fours + w];
      columns[i] = lines[min(left + i, n_lines - 1) * n_fours + w];
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
      uint4 a = make_uint4(rows[i].x & own.x, rows[i].y & own.y, rows[i].z & own.z, rows[i].w & own.w);
#pragma unroll
      for (int j = 0; j < SIDE; j++) {
        u32 first_two = add_bits(ones[i][j], a.x & columns[j].x, a.y & columns[j].y);
        u32 second_two = add_bits(ones[i][j], a.z & columns[j].z, a.w & columns[j].w);
        fours[i][j] += __popc(add_bits(twos[i][j], first_two, second_two));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      int found = 4 * fours[i][j] + 2 * __popc(twos[i][j]) + __popc(ones[i][j]);
      if (top + i < n_lines && left + j < n_lines && top + i <= left + j)
        add_warp(counts + (u64)(top + i) * n_lines + left + j, found);
    }
}

// Add the ones of each line, where mask has ones, to counts (n_lines): a warp has a line and a run of words.
extern "C" __global__ void count_ones(const u32* lines, const u32* mask, u64 n_words, u64 n_each, int* counts) {
  u64 first = blockIdx.y * n_each, last = min(first + n_each, n_words);
  int found = 0;
  for (u64 w = first + threadIdx.x; w < last; w += 32) found += __popc(lines[blockIdx.x * n_words + w] & mask[w]);
  add_warp(counts + blockIdx.x, found);
}

// Write the products of lines a[k] and b[k] to line k of products, for some words from `first` on.
extern "C" __global__ void multiply(const u32* lines, u64 n_words, u64 first, u64 n_some, const int* a, const int* b,
                                    u32* products) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x, k = blockIdx.y;
  if (t < n_some) products[k * n_some + t] = lines[a[k] * n_words + first + t] & lines[b[k] * n_words + first + t];
}

// Add common ones of pairs (rows[k], columns[k]) of lines, where mask has ones, to counts (n_pairs): a warp each.
extern "C" __global__ void count_some(const u32* lines, const u32* mask, u64 n_words, const int* rows,
                                      const int* columns, u64 n_pairs, int* counts) {
  u64 k = blockIdx.x + (u64)gridDim.x * blockIdx.y;
  if (k >= n_pairs) return;
  const u32 *a = lines + rows[k] * n_words, *b = lines + columns[k] * n_words;
  int found = 0;
  for (u64 w = threadIdx.x; w < n_words; w += 32) found += __popc(a[w] & b[w] & mask[w]);
  add_warp(counts + k, found);
}

// Add up moves[k] over the products of lines a[k] and b[k] that are one, for each draw: a thread has eight of them.
extern "C" __global__ void add_along(const u8* lines, u64 n_bytes, const int* a, const int* b, const double* moves,
                                     int n, double* values) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (t >= n_bytes) return;
  double total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll 4
  for (int k = 0; k < n; k++) {
    u32 both = lines[a[k] * n_bytes + t] & lines[b[k] * n_bytes + t];
    double move = moves[k];
#pragma unroll
    for (int c = 0; c < 8; c++)
      if (both >> c & 1) total[c] += move;
  }
#pragma unroll
  for (int c = 0; c < 8; c++) values[8 * t + c] = total[c];
}

// Add up weights over the draws in which lines a[k] and b[k] are both one, to sums (n, 32): a warp has a product.
// Weights are those of draw 32 w + c at c n_words + w, zero beyond the last.
extern "C" __global__ void add_weights(const u32* lines, u64 n_words, const int* a, const int* b, const double* weights,
                                       double* sums) {
  u64 k = blockIdx.x;
  double total = 0;
  for (u64 w = threadIdx.x; w < n_words; w += 32) {
    u32 both = lines[a[k] * n_words + w] & lines[b[k] * n_words + w];
    for (int c = 0; c < 32; c++)
      if (both >> c & 1) total += weights[c * n_words + w];
  }
  sums[32 * k + threadIdx.x] = total;
}

// Write lines of bits as numbers (n_lines, 32 n_some), of some words from `first` on: a thread has a word.
extern "C" __global__ void unpack(const u32* lines, u64 n_words, u64 first, u64 n_some, double* numbers) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x, i = blockIdx.y;
  if (t >= n_some) return;
  u32 word = lines[i * n_words + first + t];
  for (int c = 0; c < 32; c++) numbers[(i * n_some + t) * 32 + c] = word >> c & 1;
}
