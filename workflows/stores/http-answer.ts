import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import type { NoAnswer } from './store-client.ts'

/** Why a response of a store is none that can be used now. */
export function laterAfter(response: OutgoingResponse): NoAnswer {
  if (response.is === 'error') return { is: 'later', why: response.error, afterMs: null }
  const afterMs = response.retryAfterSeconds === null ? null : response.retryAfterSeconds * 1000
  return { is: 'later', why: `http_${response.status}`, afterMs }
}

/** A JSON object, also of an answer with nothing in it; null: it is none. */
export function jsonObject(text: string): object | null {
  try {
    const value = JSON.parse(text === '' ? '{}' : text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}
