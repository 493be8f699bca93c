import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { longTasks } from './measure.ts'

const EVERY_MS = 100
const NAMES = ['note_created', 'note_shared', 'search_used', 'paywall_shown']

/** Posts events at an even pace while the page shows them as they come. Returns the tasks of the page over 50 ms, and the rate that was reached. */
export async function tail(page: Page, { url, key, perSecond, seconds }: { url: string; key: string; perSecond: number; seconds: number }) {
  await page.getByText('live', { exact: true }).first().waitFor()
  // What the page itself needed to open is no part of it.
  await sleep(2_000)
  await longTasks(page)
  const began = performance.now()
  let sent = 0
  while (performance.now() - began < seconds * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond) - sent
    const events = Array.from({ length: due }, (_, n) => ({
      event_id: `tail-${began}-${sent + n}`,
      event_name: NAMES[n % NAMES.length],
      identity_id: `tail-${(sent + n) % 500}`,
      happened_at: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    }))
    sent += due
    if (due > 0) await post(`${url}/v4/events`, key, { events })
    await sleep(EVERY_MS)
  }
  const reached = sent / ((performance.now() - began) / 1000)
  await sleep(1_000)
  return { tasks: await longTasks(page), reached }
}

async function post(url: string, key: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (answer.status >= 400) throw new Error(`${url}: ${answer.status} ${text.slice(0, 300)}`)
}
