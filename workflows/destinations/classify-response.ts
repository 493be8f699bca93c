import { keptText } from '../outgoing/kept.ts'
import type { Answer } from '../outgoing/request.ts'
import type { Sent } from './destination.ts'

export type Classification = { outcome: 'delivered' | 'retry' | 'reject'; error: string | null }

/** What a vendor's body says against the status; null: the status stands. `body` is empty where the answer is no JSON object. */
export type ResponseClassifier = (status: number, body: Record<string, unknown>, text: string) => Classification | null

/** A key that is wrong or a limit that is reached will be mended; everything else a vendor refuses it will refuse again. */
const MENDED_LATER = [401, 403, 408, 429]

export function byStatus(status: number): Classification {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null }
  const isFinal = status >= 400 && status < 500 && !MENDED_LATER.includes(status)
  return { outcome: isFinal ? 'reject' : 'retry', error: `http_${status}` }
}

export const delivered: Classification = { outcome: 'delivered', error: null }
export const retry = (error: unknown): Classification => ({ outcome: 'retry', error: said(error) || 'unknown' })
export const reject = (error: unknown): Classification => ({ outcome: 'reject', error: said(error) || 'unknown' })

/** A field of the answer as words, whatever type it has today. */
export const said = (value: unknown): string => keptText(typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value))

/** What an attempt came to. */
export function classified(answer: Answer, classifyResponse: ResponseClassifier = () => null): Sent {
  const { durationMs } = answer
  if (answer.is === 'error') {
    return { outcome: 'retry', httpStatus: null, error: answer.error, response: null, retryAfterSeconds: null, durationMs }
  }
  const { status, text, retryAfterSeconds } = answer
  return {
    ...(classifyResponse(status, objectIn(text), text) ?? byStatus(status)),
    httpStatus: status,
    response: keptText(text),
    retryAfterSeconds,
    durationMs,
  }
}

/** An event that the vendor has no field to take: nothing is sent. */
export const unsendable = (error: string): Sent => ({
  outcome: 'reject',
  httpStatus: null,
  error,
  response: null,
  retryAfterSeconds: null,
  durationMs: 0,
})

export function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
