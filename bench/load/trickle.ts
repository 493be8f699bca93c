import { setTimeout as sleep } from 'node:timers/promises'
import type { Tenant } from '../product.ts'

/** Posts `perSecond` single events a second, to each project in turn, until stopped. `stop` throws when a post failed. */
export function trickle(url: string, tenants: Tenant[], perSecond: number): { stop(): Promise<number> } {
  let isOver = false
  let sent = 0
  let failure: unknown
  const post = async (n: number) => {
    const { secretKey } = tenants[n % tenants.length]!
    const event = { event_id: `trickle-${process.pid}-${n}`, event_name: 'app_opened', happened_at: new Date().toISOString() }
    const response = await fetch(`${url}/v4/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: [event] }),
    })
    const body = await response.text()
    if (response.status !== 200) throw new Error(`POST /v4/events returned ${response.status}: ${body}`)
  }
  const going = (async () => {
    const began = performance.now()
    while (!isOver && failure === undefined) {
      await post(sent++).catch(error => {
        failure = error
      })
      await sleep(Math.max(0, began + (sent * 1000) / perSecond - performance.now()))
    }
  })()
  return {
    async stop() {
      isOver = true
      await going
      if (failure !== undefined) throw failure
      return sent
    },
  }
}
