import { createHash } from 'node:crypto'

/**
 * A number in [0, 1) that depends on ids only: the first 6 bytes of SHA-256 of `a:b:c`, big-endian, over 2^48. So every process decides
 * alike, and raising a percentage keeps everyone who is in.
 */
export const chance = (what: 'traffic' | 'group' | 'config', id: string, user: string): number =>
  createHash('sha256').update(`${what}:${id}:${user}`).digest().readUIntBE(0, 6) / 2 ** 48

export const isWithin = (what: 'traffic' | 'config', id: string, user: string, percent: number): boolean =>
  100 * chance(what, id, user) < percent

/** The first group, in order of creation, whose cumulative weight is above the user's share of all weights. */
export function chooseGroup<G extends { weight: number }>(experiment: string, user: string, groups: readonly G[]): G | undefined {
  const x = chance('group', experiment, user) * groups.reduce((sum, group) => sum + group.weight, 0)
  let cumulative = 0
  return groups.find(({ weight }) => {
    cumulative += weight
    return cumulative > x
  })
}
