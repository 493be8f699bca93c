import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../failure.ts'

export type Answer = { status: number; body: unknown }
export type Send = (body: string) => Promise<Answer>

export type SendOptions = {
  url: string
  key: string
  signal: AbortSignal
  /** Told why it waits. */
  onWait: (why: string) => void
  /** How long a request is tried again; in milliseconds. */
  patience?: number
  clock?: () => number
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

const PATIENCE_MS = 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** The service gives a statement 30 s. */
const REQUEST_LIMIT_MS = 60_000

const messageOf = (body: unknown): string => String((body as { error?: { message?: unknown } } | null)?.error?.message ?? '')

const reasonOf = (error: unknown): string => {
  const { name, message, cause } = error as Error & { cause?: { code?: string } }
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.code ?? message)
}

/**
 * Posts a body of POST /v4/events until it is answered with 200 or 400. Waits as long as the service asks for (429); repeats after
 * 5xx and lost connections for a minute, which is safe as every event has an id of its own. Throws CliError for the rest.
 */
export function sender(options: SendOptions): Send {
  const { url, key, signal, onWait, patience = PATIENCE_MS, clock = () => performance.now() } = options
  const pause = options.pause ?? ((ms, signal) => sleep(ms, undefined, { signal }))

  async function post(body: string): Promise<Answer & { retryAfter: number }> {
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
        throw new CliError(`${url} does not answer since ${Math.round((clock() - failingSince) / 1000)} s (${why})`)
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

function decided({ status, body }: Answer, url: string): Answer {
  if (body !== undefined && (status === 200 || status === 400)) return { status, body }
  if (status === 401) throw new CliError(`${url} does not know this key (401): --key must be the Secret Key of a project there`)
  if (status === 403) throw new CliError(`this key may not post events (403): ${messageOf(body)}`)
  throw new CliError(`${url} does not answer like Perennial (${status}): is it the address of the service?`)
}
