import { expect, test } from 'vitest'
import { joined } from '../../api/joined.ts'

/** An execution for each call of `execute`, which the test ends. */
function executions() {
  const begun: { name: string; end: (result: string) => void; fail: (error: Error) => void }[] = []
  const call = joined((name: string) => new Promise<string>((end, fail) => begun.push({ name, end, fail })))
  return { begun, call }
}

test('calls during an execution share the next one, which begins after them', async () => {
  const { begun, call } = executions()
  const first = call('a')
  const later = [call('a'), call('a')]
  expect(begun).toHaveLength(1)
  begun[0]!.end('old')
  expect(await first).toBe('old')
  await Promise.resolve()
  expect(begun).toHaveLength(2)
  const last = call('a')
  begun[1]!.end('new')
  expect(await Promise.all(later)).toEqual(['new', 'new'])
  await Promise.resolve()
  begun[2]!.end('newest')
  expect(await last).toBe('newest')
  call('a')
  expect(begun).toHaveLength(4)
})

test('an execution that fails is not shared by the calls after it, and names wait for themselves alone', async () => {
  const { begun, call } = executions()
  const first = call('a')
  const second = call('a')
  call('b')
  expect(begun.map(({ name }) => name)).toEqual(['a', 'b'])
  begun[0]!.fail(new Error('away'))
  await expect(first).rejects.toThrow('away')
  await Promise.resolve()
  begun[2]!.end('back')
  expect(await second).toBe('back')
})
