import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import { excerpt } from '../outgoing/response.ts'
import type { Sent } from './destination.ts'

export type Classification = { outcome: 'delivered' | 'retry' | 'reject'; error: string | null }

/** Classifies by the vendor's body; null: the status decides. `body` is empty where the response is no JSON object. */
export type BodyClassifier = (status: number, body: Record<string, unknown>) => Classification | null

/** A wrong key will be corrected and a limit will pass. Every other request that a vendor refuses, it will refuse again. */
const TEMPORARY = [401, 403, 408, 429]

/** Whether a repeat of the same request will be refused again. */
export const isFinalStatus = (status: number): boolean => status >= 400 && status < 500 && !TEMPORARY.includes(status)

export function byStatus(status: number): Classification {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: null }
  return { outcome: isFinalStatus(status) ? 'reject' : 'retry', error: `http_${status}` }
}

export const delivered: Classification = { outcome: 'delivered', error: null }
export const retry = (error: unknown): Classification => ({ outcome: 'retry', error: fieldText(error) || 'unknown' })
export const reject = (error: unknown): Classification => ({ outcome: 'reject', error: fieldText(error) || 'unknown' })

/** A field of a response as text, because vendors change the types of their fields. */
export const fieldText = (value: unknown): string => excerpt(typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value))

/** The result of an attempt. */
export function classifyResponse(response: OutgoingResponse, classifyBody: BodyClassifier = () => null): Sent {
  const { durationMs } = response
  if (response.is === 'error') return { ...notSent('retry', response.error), durationMs }
  const { status, text, retryAfterSeconds } = response
  return {
    ...(classifyBody(status, objectIn(text)) ?? byStatus(status)),
    httpStatus: status,
    response: excerpt(text),
    retryAfterSeconds,
    durationMs,
  }
}

/** An attempt without a response. */
export const notSent = (outcome: 'retry' | 'reject', error: string): Sent => ({
  outcome,
  httpStatus: null,
  error,
  response: null,
  retryAfterSeconds: null,
  durationMs: 0,
})

/** For an event that lacks a field which the vendor requires: no request is made. */
export const unsendable = (error: string): Sent => notSent('reject', error)

export function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
