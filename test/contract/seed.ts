import { share } from '../harness/effort.ts'

/** Every run has the same cases; CONTRACT_SEED changes them. Failures name the seed. */
const SEED = Number(process.env.CONTRACT_SEED ?? 20261121)

/** `count` cases; CONTRACT_EFFORT=20 runs twenty times as many. */
export const runs = (count: number): { seed: number; numRuns: number } => ({
  seed: SEED,
  numRuns: share(count * Number(process.env.CONTRACT_EFFORT ?? 1)),
})
