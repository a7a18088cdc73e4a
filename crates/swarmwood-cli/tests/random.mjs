// Numbers that look random and are the same in every run.

// Steele, Lea and Flood's SplitMix64, in 32 bits: a function that returns numbers from 0 to 1.
export function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}
