// Sweeps over fields in which most variables interact, by products of matrices of whole numbers on tensor cores.
//
// States and random numbers are those of `sweep_sum`, to the last bit: log-odds are the same sums of whole numbers. They
// are products of entries, three digits of eight bits each, with the states of chains, zeros and ones. Variables come in
// blocks of 32, two tiles of 16. Both tiles of a block are multiplied with the states of all other blocks at one time,
// then each with those of the own block, just before its variables are updated one after the other. A warp has 32
// chains, whose states it holds chain by chain, a bit for each variable in the order of updates.

#define ROWS 16    // variables of a tile
#define TILES 2    // of a block of variables
#define STEP 32    // variables that one instruction multiplies with: a block
#define COLUMNS 4  // of eight chains each, that a warp multiplies with
#define WARPS 6    // of a block of threads
#define BLOCKS 2   // of threads, on a processor: more registers to each thread pay more than more threads
#define SHARE ((STEP + WARPS - 1) / WARPS)  // variables of a block that a warp draws for

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

// Exchange bit i of lane j for bit j of lane i.
__device__ __forceinline__ u32 transpose(u32 word, int lane) {
  u32 low = 0xffffu;  // bits whose number lacks the one of `apart`
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2, low ^= low << apart) {
    u32 other = __shfl_xor_sync(~0u, word, apart);
    word = lane & apart ? (word & ~low) | (other >> apart & low) : (word & low) | (other & low) << apart;
  }
  return word;
}

// What a warp multiplies a step with: the states of its chains, as bytes of zeros and ones. Lane 4 c + part has of chain
// 8 j + c the states of variables part, part + 8, ... and of part + 4, part + 12, ...
struct Bytes {
  u32 first[COLUMNS], second[COLUMNS];
  __device__ __forceinline__ Bytes(const uint4& words, int part) {
    u32 own[COLUMNS] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      u32 word = own[j] >> part;
      first[j] = word & 0x01010101u;
      second[j] = __umulhi(word, 1u << 28) & 0x01010101u;  // a shift that leaves logic alone
    }
  }
};

typedef int Sums[3][COLUMNS][4];  // of each digit, as the lanes of a warp have them

// Ask for a tile's digits of a step.
__device__ __forceinline__ void ask(uint4 (&digits)[3], const uint4* place) {
#pragma unroll
  for (int d = 0; d < 3; d++) digits[d] = __ldg(place + 32 * d);
}

// Add the product of a tile's digits of a step, and ask for those at `next`, each as soon as one is done with.
__device__ __forceinline__ void add_product(Sums& sums, uint4 (&digits)[3], const Bytes& states, const uint4* next) {
#pragma unroll
  for (int d = 0; d < 3; d++) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) multiply_add(sums[d][j], digits[d], states.first[j], states.second[j]);
    if (next) digits[d] = __ldg(next + 32 * d);
  }
}

// Wait until others have come as far as `value`.
__device__ __forceinline__ void wait_for(const int* place, int value) {
  while (*(const volatile int*)place < value)
#ifdef __CUDA_ARCH__
    __nanosleep(40);
#else
    let_others_go_on();
#endif
  __threadfence_block();
  __syncwarp();
}

// Tell others how far this warp has come, and show what it wrote before.
__device__ __forceinline__ void tell(int* place, int value, int lane) {
  __syncwarp();
  if (lane == 0) {
    __threadfence_block();
    *(volatile int*)place = value;
  }
}

// What warps share while they update a block of variables; it is made ready for the next block meanwhile.
struct Shared {
  u32 drawn[STEP][8][4 * WARPS + 1];  // eight draws of each stream; rows start in other banks
  int entries[STEP][ROWS];            // what variables add to others of their tile
  Unit units[STEP];                   // of their log-odds
};

struct Memory {
  Shared shared[2];             // of this turn and the next one
  uint4 streams[4 * WARPS];     // of random numbers
  int ready;                    // shares of turns that are ready
  int done[WARPS];              // turns that each warp is done with
  int fields[WARPS][ROWS][36];  // log-odds of a tile; rows start in other banks
};

// HAS_FEW is for few blocks, whose products are too short for all warps to make their shares ready meanwhile: half of them
// do so before the second tile.
//
// digits (n_blocks, n_blocks, 2, 3, 32): what lane l of a warp has of the entries of a tile and the 32 variables of a
// step, least digit first; the step of its own block comes last. Variables of a tile have no entries with those before
// them in it: inner (n_blocks, 32, 16) has what they add to those after them. heads (n_order) are those of `sweep`.
template <bool HAS_FEW>
__device__ __forceinline__ void sweep_dense(u32* states, uint4* streams, const int4* heads, const uint4* digits,
                                            const int* inner, u64 n_words, int n_order, int n_sweeps) {
#ifdef __CUDA_ARCH__
  extern __shared__ __align__(16) u8 near[];
#endif
  const int n_blocks = (n_order + STEP - 1) / STEP, n_turns = n_sweeps * n_blocks;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane / 4, part = lane % 4;
  const int place = lane % 8 * COLUMNS + lane / 8;  // of chain `lane` among those of its warp
  u32* bits = (u32*)near + warp * (n_blocks + 1) * STEP;  // (n_blocks, 32) of these chains, and what is read ahead
  Memory& memory = *(Memory*)((u32*)near + WARPS * (n_blocks + 1) * STEP);
  const u64 first_word = WARPS * (u64)blockIdx.x, own_word = first_word + warp;
  const bool has_stream = lane < 4 * WARPS && first_word + lane / 4 < n_words;
  if (warp == 0) {
    if (has_stream) memory.streams[lane] = streams[4 * first_word + lane];
    if (lane < WARPS) memory.done[lane] = 0;
    if (lane == 0) memory.ready = 0;
  }
  for (int step = 0; step < n_blocks; step++) {
    int k = STEP * step + lane;
    u32 word = k < n_order && own_word < n_words ? states[heads[k].x * n_words + own_word] : 0;
    bits[STEP * step + place] = transpose(word, lane);
  }
  __syncthreads();
  // Make a share of a turn ready for all warps. They take shares one after the other: streams are drawn from in order.
  auto prepare = [&](int turn, int share) {
    if (share == 0)
      for (int w = 0; w < WARPS; w++) wait_for(memory.done + w, turn - 1);
    wait_for(&memory.ready, turn * WARPS + share);
    Shared& own = memory.shared[turn % 2];
    const int block = turn % n_blocks, left = min(n_order - STEP * block, STEP);
    const int first = SHARE * share, end = min(first + SHARE, STEP), last = min(end, left), row = first + lane;
    int4 entries;  // asked for before draws are made, and written after them
    const bool has_entries = lane < ROWS / 4 * (end - first);
    if (has_entries) entries = __ldg((const int4*)(inner + (STEP * block + first) * ROWS) + lane);
    const int shift = row < last ? __ldg(&heads[STEP * block + row].w) : 1;
    if (lane < 4 * WARPS) {
      uint4 s = memory.streams[lane];
      for (int i = first; i < last; i++)
#pragma unroll
        for (int c = 7; c >= 0; c--) own.drawn[i][c][lane] = draw(s);
      memory.streams[lane] = s;
    }
    if (has_entries) ((int4*)own.entries[first])[lane] = entries;
    if (row < end) own.units[row] = make_unit(shift);
    tell(&memory.ready, turn * WARPS + share + 1, lane);
  };
  const int n_each = (n_blocks - 1) / WARPS;  // steps between two shares
  for (int turn = -1, block = 0; turn < n_turns; turn++) {  // at first there is nothing but draws to make
    const int left = min(n_order - STEP * block, STEP);
    Sums sums[TILES];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
      for (int r = 0; r < 4; r++) {
        int k = ROWS * tile + column + 8 * (r / 2), base = k < left ? __ldg(&heads[STEP * block + k].z) : 0;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
          sums[tile][0][j][r] = base;
          sums[tile][1][j][r] = sums[tile][2][j][r] = 0;
        }
      }
    const uint4* next = digits + (u64)block * n_blocks * (TILES * 96) + lane;
    uint4 a[TILES][3];
    ask(a[0], next);
    const uint4* here = (const uint4*)(bits + (block == 0) * STEP) + column;
    uint4 words = *here;
    auto add_step = [&](int i, bool has_both) {
      if (has_both) ask(a[1], next + 96);
      Bytes own(words, part);
      here += (i + 1 == block ? 2 : 1) * (STEP / 4);
      words = *here;
      next += TILES * 96;
      add_product(sums[0], a[0], own, next);
      if (has_both) add_product(sums[1], a[1], own, nullptr);
    };
    // Each warp makes its share ready at another time, so that none waits long for the one before it.
    const bool is_late = HAS_FEW && turn >= 0 && warp >= WARPS / 2;
#pragma unroll 1
    for (int i = 0, end = n_each * warp, is_last = 0; is_last < 2; is_last++, end = n_blocks - 1) {
      if (is_last && turn + 1 < n_turns && !is_late) prepare(turn + 1, warp);
      if (turn < 0) continue;
      if (left > ROWS)
#pragma unroll 1
        for (; i < end; i++) add_step(i, true);
      else
#pragma unroll 1
        for (; i < end; i++) add_step(i, false);
    }
    if (turn < 0) continue;
    wait_for(&memory.ready, (turn + 1) * WARPS);
    const Shared& shared = memory.shared[turn % 2];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
      if (tile == 1 && is_late && turn + 1 < n_turns) prepare(turn + 1, warp);
      if (ROWS * tile >= left) break;
      Bytes own(((const uint4*)(bits + STEP * block))[column], part);
      if (tile) ask(a[1], next + 96);
      add_product(sums[tile], a[tile], own, nullptr);
#pragma unroll
      for (int j = 0; j < COLUMNS; j++)
#pragma unroll
        for (int r = 0; r < 4; r++)
          memory.fields[warp][column + 8 * (r / 2)][8 * j + 2 * part + r % 2] =
              sums[tile][0][j][r] + 256 * sums[tile][1][j][r] + 65536 * sums[tile][2][j][r];
      __syncwarp();
      // One variable after the other, chain by chain: one that is one adds to the totals of those after it.
      u32 found = 0;
      int totals[ROWS];
#pragma unroll
      for (int i = 0; i < ROWS; i++) totals[i] = memory.fields[warp][i][lane];
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        u32 random = shared.drawn[ROWS * tile + i][lane % 8][4 * warp + lane / 8];
        float weight = exponentiate(totals[i], shared.units[ROWS * tile + i]);
        int is_one = __fmaf_rn(-__uint2float_rn(random), weight, __uint2float_rn(~random)) >= 0.0f;
        // Unless this is hidden the compiler chooses between entries and zeros, which it adds then: that is two instructions
        // for one. Fields of 100 variables took 1.08 times as long on an H200.
        asm volatile("" : "+r"(is_one));
        found |= (u32)is_one << i;
#pragma unroll
        for (int j = i + 1; j < ROWS; j++) totals[j] += is_one * shared.entries[ROWS * tile + i][j];
      }
      u32* word = bits + STEP * block + place;
      *word = (*word & ~(0xffffu << ROWS * tile)) | found << ROWS * tile;
      __syncwarp();
    }
    tell(memory.done + warp, turn + 1, lane);
    block = block + 1 < n_blocks ? block + 1 : 0;
  }
  __syncthreads();
  if (warp == 0 && has_stream) streams[4 * first_word + lane] = memory.streams[lane];
  for (int step = 0; step < n_blocks; step++) {
    int k = STEP * step + lane;
    u32 word = transpose(bits[STEP * step + place], lane);
    if (k < n_order && own_word < n_words) states[heads[k].x * n_words + own_word] = word;
  }
}

#define SWEEP_DENSE(NAME, HAS_FEW)                                                                             \
  extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)                                             \
      NAME(u32* states, uint4* streams, const int4* heads, const uint4* digits, const int* inner, u64 n_words, \
           int n_order, int n_sweeps) {                                                                        \
    sweep_dense<HAS_FEW>(states, streams, heads, digits, inner, n_words, n_order, n_sweeps);                   \
  }
SWEEP_DENSE(sweep_dense_few, true)
SWEEP_DENSE(sweep_dense_many, false)
