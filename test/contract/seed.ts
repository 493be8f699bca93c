/** The same cases in every run; another number in CONTRACT_SEED gives others. Failures name the seed. */
export const SEED = Number(process.env.CONTRACT_SEED ?? 20261121)
