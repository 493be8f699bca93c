import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requestHash } from '../../api/idempotency.ts'
import { parseQuery } from '../../api/query.ts'
import { rateLimiter } from '../../api/rate-limit.ts'
import { PARTITIONS, partitionOf } from '../../domain/durable/log/partition.ts'
import { decimal, negated, times } from '../../domain/events/money.ts'
import { isoMicros, micros } from '../../domain/kernel/time/instant.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { derivedId, orderedId } from '../../store/ids.ts'
import { waitAfter } from '../../workflows/engine/policy.ts'
import { share } from '../harness/effort.ts'

const amount = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 999_999_999_999n }), fc.option(fc.stringMatching(/^[0-9]{1,6}$/)))
  .map(([negative, whole, fraction]) => `${negative ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}`)
const scaled = (text: string) => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  return (text.startsWith('-') ? -1n : 1n) * BigInt(whole + fraction.padEnd(6, '0'))
}

describe('money', () => {
  test('normal form keeps the value, has at least two places and no negative zero', () => {
    fc.assert(
      fc.property(amount, text => {
        const normal = decimal(text)
        expect(scaled(normal)).toBe(scaled(text))
        expect(normal).toMatch(/^-?(0|[1-9]\d*)\.\d{2,}$/)
        expect(/^-0\.0+$/.test(normal)).toBe(false)
        expect(scaled(negated(normal))).toBe(-scaled(normal))
      }),
    )
  })

  test('amount × rate is exact to half a millionth', () => {
    fc.assert(
      fc.property(amount, fc.constantFrom('0.7', '0.85', '0.95', '1', '0.1234'), (text, rate) => {
        const exact = scaled(decimal(text)) * BigInt(Math.round(Number(rate) * 10_000))
        const error = scaled(times(decimal(text), rate)) * 10_000n - exact
        expect(error <= 5_000n && error >= -5_000n).toBe(true)
        if (rate === '1') expect(scaled(times(decimal(text), rate))).toBe(scaled(text))
      }),
    )
  })
})

describe('instants', () => {
  test('microseconds survive the conversion to text and back, in any zone', () => {
    const ms = fc.integer({ min: 0, max: Date.parse('2250-01-01T00:00:00Z') })
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 999 }), fc.integer({ min: -14 * 60, max: 14 * 60 }), (at, rest, zone) => {
        const value = at * 1000 + rest
        expect(micros(isoMicros(value))).toBe(value)
        const local = new Date(at + zone * 60_000).toISOString().slice(0, -1)
        const sign = zone < 0 ? '-' : '+'
        const two = (n: number) => String(n).padStart(2, '0')
        const offset = `${sign}${two(Math.floor(Math.abs(zone) / 60))}:${two(Math.abs(zone) % 60)}`
        if (/^\d{4}-/.test(local)) expect(micros(`${local}${String(rest).padStart(3, '0')}9${offset}`)).toBe(value)
      }),
    )
  })
})

describe('partitions', () => {
  test('never change, or stored rows could not be found again', () => {
    const subjects: [number, string][] = [
      [1, 'QON_00000000000000000000000000000000'],
      [1, 'a'],
      [2, 'a'],
      [1, 'é'],
    ]
    expect(subjects.map(([environment, subject]) => partitionOf(environment, subject))).toEqual([38, 45, 20, 2])
  })

  test('spread evenly', () => {
    const counts = new Array(PARTITIONS).fill(0)
    for (let i = 0; i < 64_000; i++) counts[partitionOf(7, `QON_${i.toString(16).padStart(32, '0')}`)]++
    expect(Math.min(...counts)).toBeGreaterThan(850)
    expect(Math.max(...counts)).toBeLessThan(1150)
  })
})

describe('ids', () => {
  test('are unique and grow in byte order', () => {
    const ids = Array.from({ length: 200_000 }, () => orderedId('evt'))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id, i) => i === 0 || ids[i - 1]! < id)).toBe(true)
    expect(ids.every(id => /^evt_[0-9a-z]{20}$/.test(id))).toBe(true)
  })

  // Receivers keep them: a release that derives them otherwise sends what a restored database makes anew under ids that nobody knows.
  test('derived ones are always the same, unique, and in the order of what they are derived from', () => {
    expect(derivedId('dlv', 'evt_0mfa1k3p2000q7w2e8r1', 7)).toBe('dlv_0mfa1k3p2000zwadv3c2')
    const events = Array.from({ length: 50_000 }, () => orderedId('evt'))
    const ids = events.flatMap(id => [derivedId('dlv', id, 1), derivedId('dlv', id, 2)])
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(id => /^dlv_[0-9a-z]{20}$/.test(id))).toBe(true)
    expect(events.every((id, i) => i === 0 || derivedId('dlv', events[i - 1]!, 1) < derivedId('dlv', id, 1))).toBe(true)
    expect(derivedId('run', 'evt_1', 'auto_1')).toMatch(/^run_[0-9a-z]{20}$/)
  })
})

describe('requests', () => {
  test('equal JSON gives equal hashes whatever the order of keys, another value another one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const shuffled = JSON.parse(JSON.stringify(value), (_key, inner) =>
          inner && typeof inner === 'object' && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).reverse()) : inner,
        )
        const hash = requestHash('/a', {}, JSON.parse(JSON.stringify(value)))
        expect(requestHash('/a', {}, shuffled)).toEqual(hash)
        expect(requestHash('/a', {}, [value])).not.toEqual(hash)
        expect(requestHash('/b', {}, value)).not.toEqual(hash)
      }),
    )
  })

  test('any query string is parsed without an error, and a well-formed one gives its values', () => {
    const parameters = [{ name: 'filter[a]', type: 'string' as const, array: true }]
    fc.assert(fc.property(fc.string(), search => void parseQuery(search, parameters)))
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0') && text.isWellFormed()),
          { minLength: 1 },
        ),
        values => {
          const search = new URLSearchParams(values.map((value): [string, string] => ['filter[a]', value])).toString()
          expect(parseQuery(search, parameters)).toEqual({ values: { 'filter[a]': values }, faults: [] })
        },
      ),
    )
  })
})

describe('limits', () => {
  test('a bucket allows its burst and then its rate, never more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 100 }),
        fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 200 }),
        (perSecond, burst, gaps) => {
          let now = 0
          let taken = 0
          const take = rateLimiter({ perSecond, burst }, () => now)
          for (const gap of gaps) {
            now += gap
            try {
              take('key', 1)
              taken++
            } catch {}
          }
          expect(taken).toBeLessThanOrEqual(burst + (now / 1000) * perSecond + 1e-6)
          expect(taken).toBeGreaterThanOrEqual(Math.min(gaps.length, burst))
        },
      ),
    )
  })

  test('waits between attempts are within ±10 %, and end', () => {
    const policy = { waits: [10, 60, 300, 1800], attemptLimitMs: 1 }
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.double({ min: 0, max: 0.999999, noNaN: true }), (failed, random) => {
        const wait = waitAfter(policy, failed, random)
        const plain = policy.waits[failed - 1]
        if (plain === undefined) expect(wait).toBeNull()
        else expect(Math.abs(wait! - plain)).toBeLessThanOrEqual(plain * 0.1 + 1e-9)
      }),
    )
  })
})

describe('secrets', () => {
  const secrets = secretsFrom('one secret of the installation')
  test('open only with the same secret and for the same purpose', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (plain, at) => {
        const sealed = secrets.seal(plain, 'key:1')
        expect(secrets.open(sealed, 'key:1')).toBe(plain)
        expect(() => secrets.open(sealed, 'key:2')).toThrow()
        expect(() => secretsFrom('another secret').open(sealed, 'key:1')).toThrow()
        const altered = Buffer.from(sealed)
        altered[at % altered.length]! ^= 1
        expect(() => secrets.open(altered, 'key:1')).toThrow()
      }),
      { numRuns: share(50) },
    )
  })
})
