// Where bounds have met, and the exact draws that chains between them complete.

// Write ones for the chains all of whose bounds (2 n_lines, n_words) have met.
extern "C" __global__ void find_met(const u32* bounds, u32 n_lines, u64 n_words, u32* met) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (t >= n_words) return;
  u32 differ = 0;
  for (u32 i = 0; i < n_lines; i++) differ |= bounds[i * n_words + t] ^ bounds[(i + n_lines) * n_words + t];
  met[t] = ~differ;
}

// Close a block of sweeps: keep the exact draws that it completes, and get ready for the next one.
//
// planes (3 n_lines, n_words): least states, largest states, and the chains between them. Bounds begin at zero and at
// may (n_lines), or at starts (2 n_lines, n_words) where these are given. before (n_lines, n_words): the chains when the block began. held (n_words): chains that have met
// once, so that where they began does not show; those that meet again complete a draw, the state before the block,
// which goes to the first of draws (n_lines, n_rounds, n_all) that its chain has not filled (n_rounds, n_words); the
// chains are words `first`, ... of all.
// done (n_words) gets ones where all are filled; left counts the other words, and n_met the chains that met and are not
// done.
extern "C" __global__ void settle(u32* planes, const u32* may, const u32* starts, u32* before,
                                  u32* held, u32* filled, u32* draws, u8* done, u32 n_lines, u64 n_words, u32 n_rounds, u64 n_all,
                                  u64 first, u32* left, u64* n_met) {
  u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (t >= n_words || done[t]) return;
  u32 differ = 0;
  for (u32 i = 0; i < n_lines; i++) differ |= planes[i * n_words + t] ^ planes[(i + n_lines) * n_words + t];
  u32 met = ~differ, give = met & held[t];
  bool is_done = true;
  for (u32 r = 0; r < n_rounds; r++) {
    u32 full = filled[r * n_words + t], take = give & ~full;
    if (take) {
      filled[r * n_words + t] = full |= take;
      give &= ~take;
      for (u32 i = 0; i < n_lines; i++)
        draws[((u64)i * n_rounds + r) * n_all + first + t] |= before[i * n_words + t] & take;
    }
    is_done = is_done && full == ~0u;
  }
  held[t] |= met;
  for (u32 i = 0; i < n_lines; i++) {
    u32 low = planes[i * n_words + t], carried = planes[(i + 2 * n_lines) * n_words + t];
    carried = (low & met) | (carried & ~met);
    planes[(i + 2 * n_lines) * n_words + t] = before[i * n_words + t] = carried;
    planes[i * n_words + t] = starts ? starts[i * n_words + t] : 0u;
    planes[(i + n_lines) * n_words + t] = starts ? starts[(i + n_lines) * n_words + t] : may[i];
  }
  done[t] = is_done;
  if (!is_done) atomicAdd(left, 1u);
  atomicAdd(n_met, (u64)__popc(met));
}
