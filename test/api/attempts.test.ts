import { expect, test } from 'vitest'
import { wrongPasswords } from '../../api/attempts.ts'

function attempts() {
  let now = 0
  const counted = wrongPasswords(() => now)
  return { ...counted, pass: (seconds: number) => (now += seconds * 1000) }
}

test('after ten wrong passwords an address waits until its minute is over', () => {
  const { wait, count, pass } = attempts()
  for (let n = 0; n < 10; n++) {
    expect(wait('192.0.2.1')).toBeNull()
    count('192.0.2.1')
    pass(1)
  }
  expect(wait('192.0.2.1')).toBe(50)
  expect(wait('192.0.2.2')).toBeNull()
  pass(50)
  expect(wait('192.0.2.1')).toBeNull()
})

test.each([
  ['2001:db8::1', '2001:db8::2:1', true],
  ['2001:db8:0:1::1', '2001:db8:0:1:ffff:ffff:ffff:ffff', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
])('%s and %s are one caller: %s', (one, other, isSame) => {
  const { wait, count } = attempts()
  for (let n = 0; n < 10; n++) count(one)
  expect(wait(other) !== null).toBe(isSame)
})

test('many addresses take bounded memory: the oldest is forgotten', () => {
  const { wait, count } = attempts()
  for (let n = 0; n < 10; n++) count('first')
  for (let n = 0; n < 10_000; n++) count(`address ${n}`)
  expect(wait('first')).toBeNull()
})
