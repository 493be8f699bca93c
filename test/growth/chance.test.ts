import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { chance, chooseGroup, isWithin } from '../../domain/growth/remote-configurations/decide.ts'

const USERS = Array.from({ length: 100_000 }, (_, i) => `QON_${createHash('md5').update(String(i)).digest('hex')}`)
const share = (hits: number) => hits / USERS.length

describe('chance', () => {
  test('is the first 48 bits of SHA-256 over 2^48', () => {
    const bits = createHash('sha256').update('traffic:exp_1:QON_1').digest('hex').slice(0, 12)
    expect(chance('traffic', 'exp_1', 'QON_1')).toBe(Number.parseInt(bits, 16) / 2 ** 48)
    expect(chance('group', 'exp_1', 'QON_1')).not.toBe(chance('traffic', 'exp_1', 'QON_1'))
  })

  test.each([0, 1, 33.3, 70, 100])('%s %% selects that share of users, within 1 %%', percent => {
    expect(Math.abs(share(USERS.filter(user => isWithin('traffic', 'exp_1', user, percent)).length) - percent / 100)).toBeLessThan(0.01)
  })

  test('weights are shares of users, within 1 %', () => {
    const groups = [
      { id: 'a', weight: 1 },
      { id: 'none', weight: 0 },
      { id: 'b', weight: 0.5 },
      { id: 'c', weight: 2.5 },
    ]
    const counts = new Map<string, number>()
    for (const user of USERS) {
      const { id } = chooseGroup('exp_1', user, groups)!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    expect(counts.has('none')).toBe(false)
    for (const { id, weight } of groups) expect(Math.abs(share(counts.get(id) ?? 0) - weight / 4)).toBeLessThan(0.01)
  })

  test('traffic and group of one experiment are independent, and so are two experiments', () => {
    const inside = USERS.filter(user => isWithin('traffic', 'exp_1', user, 50))
    const groups = [{ weight: 1 }, { weight: 1 }] as const
    const first = inside.filter(user => chooseGroup('exp_1', user, groups) === groups[0]).length
    expect(Math.abs(first / inside.length - 0.5)).toBeLessThan(0.01)
    expect(Math.abs(inside.filter(user => isWithin('traffic', 'exp_2', user, 50)).length / inside.length - 0.5)).toBeLessThan(0.01)
  })

  test('a higher percentage keeps all users that were selected', () => {
    const few = USERS.slice(0, 20_000).filter(user => isWithin('config', 'c', user, 20))
    expect(few.every(user => isWithin('config', 'c', user, 21))).toBe(true)
  })

  test('no user is selected when all weights are zero', () => {
    expect(chooseGroup('exp_1', 'u', [{ weight: 0 }])).toBeUndefined()
  })
})
