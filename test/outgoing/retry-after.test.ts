import { expect, test } from 'vitest'
import { retryAfterSeconds, retryAtSeconds } from '../../workflows/outgoing/response.ts'

const NOW = Date.UTC(1994, 10, 6, 8, 48, 37)

test.each([
  ['120', 120],
  ['0', 1],
  ['86401', 86_400],
  ['99999999999999999999', 86_400],
  [' 7 ', 7],
  [['30', '40'], 30],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 60],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 60],
  ['Sun Nov  6 08:49:37 1994', 60],
  ['Sat, 05 Nov 1994 08:49:37 GMT', 1],
  ['Sun, 06 Nov 2044 08:49:37 GMT', 86_400],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['1e3', null],
  ['Sunday', null],
  ['', null],
  [undefined, null],
])('Retry-After %j is a wait of %j seconds', (header, seconds) => expect(retryAfterSeconds(header, NOW)).toBe(seconds))

test.each([
  [String(NOW + 4_000), 4],
  [String(NOW + 4_001), 5],
  [String(NOW - 60_000), 1],
  [String(NOW + 7 * 86_400_000), 86_400],
  ['30', 30],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 60],
  ['soon', null],
  [undefined, null],
])('Retry-After %j in Unix milliseconds is a wait of %j seconds', (header, seconds) => expect(retryAtSeconds(header, NOW)).toBe(seconds))
