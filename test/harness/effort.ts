/**
 * The share of what tests draw at random, or repeat, that is tried: all on Node; on Deno, where the same code and the same statements run, as
 * much as shows that they do. TEST_EFFORT says otherwise.
 */
const EFFORT = Number(process.env.TEST_EFFORT ?? ('Deno' in globalThis ? 0.2 : 1))

/** The share of `count`, at least one. */
export const share = (count: number): number => Math.max(1, Math.ceil(count * EFFORT))

/** The share of a list, spread over it. */
export const sampled = <T>(of: T[]): T[] => {
  const count = share(of.length)
  return of.length === 0 ? [] : Array.from({ length: count }, (_, i) => of[Math.floor((i * of.length) / count)]!)
}
