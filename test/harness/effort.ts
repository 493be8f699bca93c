/**
 * The share of what tests draw at random, or repeat for each queue, server or limit, that one run tries: three tenths on Node; on Deno, where the same
 * code and the same statements run, as much as shows that they do. TEST_EFFORT says otherwise: 1 is all of it.
 */
const EFFORT = Number(process.env.TEST_EFFORT ?? ('Deno' in globalThis ? 0.2 : 0.3))

/** In each turn of 50 minutes another part is tried, so that a few runs have tried all of it. The runner names the number; TEST_TURN tries that part again. */
const TURN = Number(process.env.TEST_TURN ?? 0)

export const IS_WHOLE = EFFORT >= 1

/** The share of `count`, at least one. */
export const share = (count: number): number => Math.max(1, Math.ceil(count * EFFORT))

/** The share of a list, spread over it, in its order. */
export const sampled = <T>(of: readonly T[]): T[] => {
  const count = share(of.length)
  const chosen = new Set(Array.from({ length: count }, (_, i) => (Math.floor((i * of.length) / count) + TURN) % of.length))
  return of.filter((_, i) => chosen.has(i))
}

/** One of some ways to the same end, or each of them when all is tried. */
export const inTurn = <T>(of: readonly T[]): readonly T[] => (IS_WHOLE ? of : [of[TURN % of.length]!])
