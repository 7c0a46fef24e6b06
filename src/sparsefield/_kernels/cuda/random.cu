// Random numbers: streams of sfc32 (Doty-Humphrey 2010, PractRand), seeded by Philox (Salmon et al. 2011).
//
// Eight chains share a stream. Stream k of a seed is the same whatever the number of chains, and whether a thread
// sweeps 8, 16 or 32 of them.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// The ten rounds of Philox4x32: four random words for each counter.
__device__ __forceinline__ uint4 philox(uint4 c, u32 k0, u32 k1) {
  for (int round = 0; round < 10; round++) {
    u32 high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    u32 high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// The next 32 random bits of a stream: two sums and a shift of three words, and a counter.
__device__ __forceinline__ u32 draw(uint4& s) {
  u32 found = s.x + s.y + s.w;
  s.w += 1;
  s.x = s.y ^ (s.y >> 9);
  s.y = s.z + (s.z << 3);
  s.z = ((s.z << 21) | (s.z >> 11)) + found;
  return found;
}

// Seed streams from number `first` on: one thread each.
extern "C" __global__ void seed_streams(uint4* streams, u64 n_streams, u64 first, u32 key0, u32 key1, u32 use) {
  u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x, number = first + k;
  if (k >= n_streams) return;
  streams[k] = philox(make_uint4((u32)number, (u32)(number >> 32), use, 0u), key0, key1);
}

// Fill words of states (n_lines, n_words) with random bits where `may` is one: a thread has a word of four lines.
extern "C" __global__ void fill_bits(u32* states, u64 n_words, u32 n_lines, const u32* may, u32 key0, u32 key1,
                                     u32 use) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  u32 first = 4 * blockIdx.y;
  if (t >= n_words) return;
  uint4 found = philox(make_uint4((u32)t, (u32)(t >> 32), use, blockIdx.y), key0, key1);
  u32 bits[4] = {found.x, found.y, found.z, found.w};
  for (u32 k = 0; k < 4 && first + k < n_lines; k++) states[(first + k) * n_words + t] = bits[k] & may[first + k];
}
