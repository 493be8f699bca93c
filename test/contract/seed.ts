/** The same cases in every run; another number in CONTRACT_SEED gives others. Failures name the seed. */
const SEED = Number(process.env.CONTRACT_SEED ?? 20261121)

/** So many cases; CONTRACT_EFFORT=20 makes twenty times as many. */
export const runs = (count: number): { seed: number; numRuns: number } => ({
  seed: SEED,
  numRuns: count * Number(process.env.CONTRACT_EFFORT ?? 1),
})
