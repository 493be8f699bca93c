import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../failure.ts'

export type ServiceAnswer = { status: number; body: unknown }
export type Send = (body: string) => Promise<ServiceAnswer>

export type SendOptions = {
  url: string
  key: string
  signal: AbortSignal
  /** Gets the reason for a wait. */
  onWait: (why: string) => void
  /** How long a failing request is repeated, in milliseconds. */
  patience?: number
  clock?: () => number
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

const PATIENCE_MS = 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** Longer than the 30 s that the service allows a statement. */
const REQUEST_LIMIT_MS = 60_000

const messageOf = (body: unknown): string => String((body as { error?: { message?: unknown } } | null)?.error?.message ?? '')

const reasonOf = (error: unknown): string => {
  const { name, message, cause } = error as Error & { cause?: { code?: string } }
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.code ?? message)
}

/**
 * Posts a body of POST /v4/events until the answer is 200 or 400. After 429 it waits as long as the service asks. After 5xx and lost
 * connections it repeats for a minute, which is safe because every event has its own id. Throws CliError for any other answer.
 */
export function sender(options: SendOptions): Send {
  const { url, key, signal, onWait, patience = PATIENCE_MS, clock = () => performance.now() } = options
  const pause = options.pause ?? ((ms, signal) => sleep(ms, undefined, { signal }))

  async function post(body: string): Promise<ServiceAnswer & { retryAfter: number }> {
    const response = await fetch(`${url}/v4/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_LIMIT_MS)]),
    })
    const text = await response.text()
    return { status: response.status, body: parsed(text), retryAfter: Number(response.headers.get('retry-after')) }
  }

  return async body => {
    let failingSince: number | undefined
    for (let wait = FIRST_PAUSE_MS; ; ) {
      signal.throwIfAborted()
      const answer = await post(body).catch(error => {
        signal.throwIfAborted()
        return reasonOf(error)
      })
      if (typeof answer !== 'string' && answer.status === 429) {
        const seconds = Math.max(1, answer.retryAfter || 1)
        onWait(`too many requests: waiting ${seconds} s`)
        await pause(seconds * 1000, signal)
        continue
      }
      if (typeof answer !== 'string' && answer.status < 500) return decided(answer, url)
      const why = typeof answer === 'string' ? answer : `${answer.status} ${messageOf(answer.body)}`.trim()
      failingSince ??= clock()
      if (clock() - failingSince + wait > patience)
        throw new CliError(`${url} has not answered for ${Math.round((clock() - failingSince) / 1000)} s (${why})`)
      if (wait === FIRST_PAUSE_MS) onWait(`${url} does not answer (${why}): trying again for ${Math.round(patience / 1000)} s`)
      await pause(wait, signal)
      wait = Math.min(wait * 2, LONGEST_PAUSE_MS)
    }
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function decided({ status, body }: ServiceAnswer, url: string): ServiceAnswer {
  if (body !== undefined && (status === 200 || status === 400)) return { status, body }
  if (status === 401)
    throw new CliError(
      `${url} does not know this key (401): PERENNIAL_KEY must be the Secret Key of a project there, or a named key that works from here`,
    )
  if (status === 403) throw new CliError(`this key may not post events (403): ${messageOf(body)}`)
  throw new CliError(`${url} does not answer like Perennial (${status}): is it the address of the service?`)
}
