import type { Pool } from '../../store/connect.ts'
import { newOperator, PASSWORD, visitor } from '../../test/harness/operators.ts'
import { median } from '../report.ts'

/** In milliseconds. `heldUp`: the longest piece of work on the event loop during a sign-in, the median of all. */
export type SignIns = { p50: number; longest: number; heldUp: number; idle: number }

const HELD_UP = /^perennial_event_loop_delay_seconds (\S+)$/m

/** Signs an operator in so many times, one after the other, with the token of the service's figures. */
export async function measureSignIns(pool: Pool, url: string, token: string, count: number): Promise<SignIns> {
  const { email } = await newOperator({ pool })
  /** The longest delay since the last reading. */
  const heldUp = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    return Number(HELD_UP.exec(await answer.text())![1]) * 1000
  }
  const times: number[] = []
  const delays: number[] = []
  const idle: number[] = []
  for (let n = 0; n < count; n++) {
    const browser = visitor(url)
    await browser.open('/sign-in')
    await heldUp()
    await new Promise(resolve => setTimeout(resolve, 100))
    idle.push(await heldUp())
    const startedAt = performance.now()
    const { status } = await browser.send('/sign-in', { email, password: PASSWORD })
    times.push(performance.now() - startedAt)
    delays.push(await heldUp())
    if (status !== 303) throw new Error(`a sign-in was answered with ${status}`)
  }
  return { p50: median(times), longest: Math.max(...times), heldUp: median(delays), idle: median(idle) }
}
