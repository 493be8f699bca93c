import { setTimeout as delay } from 'node:timers/promises'
import { Pool as HttpPool } from 'undici'
import { quantile } from '../report.ts'
import type { Resources } from '../resources.ts'
import type { Signed } from './stores.ts'

/** The next question comes so much later than the one before, as a part of the time so far: at an even pace the questions would be the load. */
const POLL_SHARE = 1 / 10
const SHORTEST_POLL_MS = 5
const LIMIT_MS = 60_000
const CONNECTIONS = 64

/** A side that takes notifications. `accessPath`: where it shows the access of a user. */
export type Side = {
  name: string
  url: string
  accessPath: (user: string) => string
  headers: Record<string, string>
  hasAccess: (body: string) => boolean
}

/** Times of purchases in ms, each from the moment at which its notification was due: to the answer, to the access, and to the webhook. */
export type Times = { answered: number[]; access: number[]; webhook: number[] }
/** `perSecond` null: `atOnce` purchases are under way at any time. */
export type Pace = { perSecond: number; atOnce: null } | { perSecond: null; atOnce: number }

/** When the webhook about a user has arrived. */
export function arrivals() {
  const times = new Map<string, (at: number) => void>()
  return {
    arrived: (user: string) => times.get(user)?.(performance.now()),
    of: (user: string) => new Promise<number>(resolve => times.set(user, resolve)),
  }
}

/** Posts a notification for each user at a pace, and follows each until the access and the webhook are there. */
export async function follow(
  resources: Resources,
  side: Side,
  users: string[],
  { sell, webhookOf, pace }: { sell: (user: string) => Promise<Signed>; webhookOf: (user: string) => Promise<number>; pace: Pace },
): Promise<Times> {
  const http = new HttpPool(side.url, { connections: CONNECTIONS })
  resources.undo(() => http.close())
  const times: Times = { answered: [], access: [], webhook: [] }
  const accessOf = async (user: string, since: number): Promise<number> => {
    const passed = () => performance.now() - since
    for (; passed() < LIMIT_MS; await delay(Math.max(SHORTEST_POLL_MS, passed() * POLL_SHARE))) {
      const { body, statusCode } = await http.request({ method: 'GET', path: side.accessPath(user), headers: side.headers })
      const text = await body.text()
      if (statusCode === 200 && side.hasAccess(text)) return performance.now()
    }
    throw new Error(`${side.name}: ${user} has no access`)
  }
  const one = async (user: string, signed: Signed, due: number) => {
    const webhook = webhookOf(user)
    const { statusCode, body } = await http.request({ method: 'POST', path: signed.path, body: signed.body, headers: signed.headers })
    await body.dump()
    if (statusCode !== 200) throw new Error(`${side.name}: ${statusCode}`)
    times.answered.push(performance.now() - due)
    const ends = await Promise.all([accessOf(user, due), webhook])
    times.access.push(ends[0] - due)
    times.webhook.push(ends[1] - due)
  }
  const signed = await Promise.all(users.map(sell))
  const began = performance.now()
  if (pace.perSecond !== null) {
    await Promise.all(
      users.map(async (user, n) => {
        const due = began + (n * 1000) / pace.perSecond
        await delay(Math.max(0, due - performance.now()))
        await one(user, signed[n]!, due)
      }),
    )
    return times
  }
  let next = 0
  const loop = async () => {
    for (let n = next++; n < users.length; n = next++) await one(users[n]!, signed[n]!, performance.now())
  }
  await Promise.all(Array.from({ length: pace.atOnce }, loop))
  return times
}

export const quantilesOf = (ms: number[]): string[] => {
  const sorted = ms.toSorted((a, b) => a - b)
  return [0.5, 0.95, 0.99].map(q => quantile(sorted, q).toFixed(0))
}
