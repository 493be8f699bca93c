import { expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'

const always = (share: bigint) => ({ recurring: share, loyal: share, oneTime: share })
const DEFAULTS = {
  iOS: { recurring: 7000n, loyal: 8500n, oneTime: 7000n },
  Android: { recurring: 8500n, loyal: 8500n, oneTime: 7000n },
  Stripe: always(10_000n),
  Paddle: always(9500n),
}
const ratesOf = (PROCEEDS_RATES?: string) => readConfig(PROCEEDS_RATES === undefined ? {} : { PROCEEDS_RATES }).proceedsRates

test('without PROCEEDS_RATES the shares are those of the stores', () => {
  expect(ratesOf()).toEqual(DEFAULTS)
  expect(ratesOf('')).toEqual(DEFAULTS)
  expect(ratesOf('{}')).toEqual(DEFAULTS)
})

test('a named platform has that share of every amount, the others stay', () => {
  expect(ratesOf('{"iOS":0.85}')).toEqual({ ...DEFAULTS, iOS: always(8500n) })
  expect(ratesOf(' {"Stripe": 0.9712, "Paddle": 1, "Android": 0} ')).toEqual({
    ...DEFAULTS,
    Stripe: always(9712n),
    Paddle: always(10_000n),
    Android: always(0n),
  })
})

test.each([
  '0.85',
  '[0.85]',
  'null',
  '{"iOS":"0.85"}',
  '{"ios":0.85}',
  '{"iOS":1.0001}',
  '{"iOS":-0.1}',
  '{"iOS":0.85001}',
  '{"iOS":1e-7}',
  '{"iOS":null}',
  '{"__proto__":0.5}',
  "{'iOS':0.85}",
  '{"iOS":0.85',
])('%s is refused with one line', text => {
  expect(() => ratesOf(text)).toThrow(
    /^PROCEEDS_RATES=.*: must be JSON such as \{"iOS":0\.85\}: for iOS, Android, Stripe, Paddle the share [^\n]*$/,
  )
})
