import { median } from './report.ts'

/** How long answers took in ms, sorted, and the last one. */
export type RequestTimes = { times: number[]; body: string; bytes: number }

/** Sends one request again and again, one at a time. Throws when an answer is not 200. */
export async function measure(url: string, key: string, path: string, rounds: number): Promise<RequestTimes> {
  const times: number[] = []
  let body = ''
  for (let n = 0; n < rounds; n++) {
    const startedAt = performance.now()
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
    body = await answer.text()
    times.push(performance.now() - startedAt)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body.slice(0, 300)}`)
  }
  return { times: times.sort((a, b) => a - b), body, bytes: body.length }
}

export const p50 = ({ times }: RequestTimes): number => median(times)
export const p95 = ({ times }: RequestTimes): number => times[Math.min(times.length - 1, Math.ceil(times.length * 0.95) - 1)]!
