import { expect } from 'vitest'
import type { Client } from './client.ts'
import { must } from './integrations.ts'

/** Advances the sandbox's clock by at least `by` milliseconds, and repeats the request while it times out. */
export async function jump(call: Client, by: number): Promise<void> {
  const { now } = await must(call, 'GET', '/v4/test-clock')
  let body: object = { to: new Date(Date.parse(now) + by).toISOString() }
  for (;;) {
    const answer = await call('POST', '/v4/test-clock/advance', { body })
    if (answer.status === 200) return expect(answer.body.outstanding).toBe(0)
    // The clock goes on meanwhile: on a loaded machine it may have passed the target.
    if (answer.status === 400 && 'to' in body) {
      body = { by: 'PT1S' }
      continue
    }
    expect([answer.status, answer.text]).toEqual([504, answer.text])
  }
}
