import { expect, test } from 'vitest'
import { startGate } from '../../../workflows/scheduled-report/start-gate.ts'

const NEVER = 2 ** 31 - 1

/** Work that ends when told. */
function gate() {
  let open = () => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}

test('whoever waits for the starts goes on when the last of them has ended, well or not', async () => {
  const starts = startGate(NEVER)
  const [one, other] = [gate(), gate()]
  const order: string[] = []
  const first = starts.during(() => one.passed)
  const second = starts
    .during(async () => {
      await other.passed
      throw new Error('refused')
    })
    .catch(() => order.push('failed'))
  const file = starts.over().then(() => order.push('file'))
  one.open()
  await first
  expect(order).toEqual([])
  other.open()
  await Promise.all([second, file])
  expect(order.sort()).toEqual(['failed', 'file'])
})

test('nobody waits where nothing starts', async () => {
  await startGate(NEVER).over()
})

test('starts that never end do not hold up the files', async () => {
  const starts = startGate(1)
  void starts.during(() => gate().passed)
  await starts.over()
})
