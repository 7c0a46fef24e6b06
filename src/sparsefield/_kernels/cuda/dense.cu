// Sweeps over fields in which most variables interact, by products of matrices of whole numbers on tensor cores.
//
// States and random numbers are those of `sweep_sum`, to the last bit: log-odds are the same sums of whole numbers.
// Sixteen variables are updated one after the other, given what others add to their log-odds before: a product of their
// entries, three digits of eight bits each, with the states of chains, zeros and ones. A block of threads has 256 chains,
// whose states it holds chain by chain, a bit for each variable in the order of updates.

#define ROWS 16            // variables of a product
#define OWN 64             // chains of a warp; with 32 of them entries are read twice as often, in a fifth more time
#define WARPS (256 / OWN)  // of a block
#define COLUMNS (OWN / 8)  // that a warp multiplies with, eight chains each
#define HALVES (OWN / 32)  // chains of a lane
#define BLOCKS 3           // of a processor, whose registers they share
#define FIELD_ROW (OWN + 4)  // so that rows start in other banks
#define DRAWN_ROW (8 * 33)   // eight draws of 32 streams, likewise

// Add the product of digits (16 variables x 32 others) and states (32 x 8 chains).
__device__ __forceinline__ void multiply_add(int (&sum)[4], const uint4& a, u32 b0, u32 b1) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
  multiply_in_warp(sum, a, b0, b1);
#endif
}

// digits (n_blocks, n_steps, 3, 32): what lane l of a warp has of the entries of 16 variables and 32 others, least digit
// first. inner (n_blocks, 16, 16): what variable i of the 16 adds to variable j, at (i, j). heads (n_order) are those of
// `sweep`.
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    sweep_dense(u32* states, uint4* streams, const int4* heads, const uint4* digits, const int* inner, u64 n_words,
                int n_order, int n_sweeps) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) u32 memory[];
#else
  u32* memory = (u32*)near;
#endif
  const int n_steps = (n_order + 31) / 32, n_blocks = (n_order + ROWS - 1) / ROWS, stride = n_steps + 1;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane / 4, part = lane % 4;
  u32* bits = memory + warp * OWN * stride;                                       // (OWN, stride) of this warp's chains
  int* fields = (int*)(memory + WARPS * OWN * stride) + warp * ROWS * FIELD_ROW;  // (16, OWN)
  u32* drawn = memory + WARPS * (OWN * stride + ROWS * FIELD_ROW);                // (16, 8, 33): draws of 32 streams
  int* entries = (int*)(drawn + ROWS * DRAWN_ROW);                                // (16, 16), then (16, 4) of heads
  uint4* held = (uint4*)(entries + ROWS * ROWS + 4 * ROWS);                       // streams of the block
  const u64 first_word = 8 * (u64)blockIdx.x, own_word = first_word + HALVES * warp;
  if (warp == 0 && first_word + lane / 4 < n_words) held[lane] = streams[4 * first_word + lane];
  // From lines of chains to lines of variables: 32 by 32 bits at a time.
  for (int step = 0; step < n_steps; step++) {
    int k = 32 * step + lane;
    for (int half = 0; half < HALVES; half++) {
      u32 word = 0, mine = 0;
      if (k < n_order && own_word + half < n_words) word = states[heads[k].x * n_words + own_word + half];
      for (int c = 0; c < 32; c++) {
        u32 all = __ballot_sync(~0u, word >> c & 1);
        if (lane == c) mine = all;
      }
      bits[(32 * half + lane) * stride + step] = mine;
    }
  }
  for (int n = 0; n < n_sweeps; n++)
    for (int block = 0; block < n_blocks; block++) {
      __syncthreads();  // what the last block of variables had of the memory is done with
      for (int k = threadIdx.x; k < ROWS * ROWS; k += 32 * WARPS) entries[k] = inner[block * ROWS * ROWS + k];
      if (threadIdx.x < ROWS && ROWS * block + threadIdx.x < n_order)
        ((int4*)(entries + ROWS * ROWS))[threadIdx.x] = heads[ROWS * block + threadIdx.x];
      if (warp == block % WARPS) {  // warps take turns to draw for all
        uint4 s = held[lane];
        for (int i = 0; i < ROWS && ROWS * block + i < n_order; i++)
#pragma unroll
          for (int c = 7; c >= 0; c--) drawn[i * DRAWN_ROW + c * 33 + lane] = draw(s);
        held[lane] = s;
      }
      int sums[3][COLUMNS][4];
#pragma unroll
      for (int d = 0; d < 3; d++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
          for (int r = 0; r < 4; r++) sums[d][j][r] = 0;
      const uint4* own = digits + (u64)block * n_steps * 96 + lane;
      uint4 a[3] = {__ldg(own), __ldg(own + 32), __ldg(own + 64)};
      for (int step = 0; step < n_steps; step++) {
        uint4 now[3] = {a[0], a[1], a[2]};
        if (step + 1 < n_steps) {
          own += 96;
          a[0] = __ldg(own);
          a[1] = __ldg(own + 32);
          a[2] = __ldg(own + 64);
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
          u32 word = bits[(8 * j + column) * stride + step] >> part;
          u32 b0 = word & 0x01010101u, b1 = __umulhi(word, 1u << 28) & 0x01010101u;  // a shift that leaves logic alone
#pragma unroll
          for (int d = 0; d < 3; d++) multiply_add(sums[d][j], now[d], b0, b1);
        }
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; j++)
#pragma unroll
        for (int r = 0; r < 4; r++)
          fields[(column + 8 * (r / 2)) * FIELD_ROW + 8 * j + 2 * part + r % 2] =
              sums[0][j][r] + 256 * sums[1][j][r] + 65536 * sums[2][j][r];
      __syncthreads();
      // One variable after the other, chain by chain: one that changes changes the totals of those after it.
      u32 mine[HALVES];
      int totals[HALVES][ROWS];
      const int4* own_heads = (int4*)(entries + ROWS * ROWS);
#pragma unroll
      for (int half = 0; half < HALVES; half++) {
        mine[half] = bits[(32 * half + lane) * stride + block / 2] >> 16 * (block % 2) & 0xffffu;
#pragma unroll
        for (int i = 0; i < ROWS; i++) totals[half][i] = fields[i * FIELD_ROW + 32 * half + lane] + own_heads[i].z;
      }
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        if (ROWS * block + i >= n_order) break;
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
          u32 random = drawn[i * DRAWN_ROW + lane % 8 * 33 + (OWN * warp + 32 * half + lane) / 8];
          float weight = exponentiate(totals[half][i], own_heads[i].w);
          int is_one = __fmaf_rn(-__uint2float_rn(random), weight, __uint2float_rn(~random)) >= 0.0f;
          int change = is_one - (int)(mine[half] >> i & 1);
          mine[half] ^= (u32)(change & 1) << i;
#pragma unroll
          for (int j = i + 1; j < ROWS; j++) totals[half][j] += change * entries[ROWS * i + j];
        }
      }
#pragma unroll
      for (int half = 0; half < HALVES; half++) {
        u32* place = bits + (32 * half + lane) * stride + block / 2;
        *place = (*place & ~(0xffffu << 16 * (block % 2))) | mine[half] << 16 * (block % 2);
      }
      __syncwarp();
    }
  __syncthreads();
  if (warp == 0 && first_word + lane / 4 < n_words) streams[4 * first_word + lane] = held[lane];
  for (int step = 0; step < n_steps; step++) {
    int k = 32 * step + lane;
    for (int half = 0; half < HALVES; half++) {
      u32 chain = bits[(32 * half + lane) * stride + step], mine = 0;
      for (int c = 0; c < 32; c++) {
        u32 all = __ballot_sync(~0u, chain >> c & 1);
        if (lane == c) mine = all;
      }
      if (k < n_order && own_word + half < n_words) states[heads[k].x * n_words + own_word + half] = mine;
    }
  }
}
