import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import type { NoAnswer } from './store-client.ts'

/** The reason why a response of a store cannot be used now. */
export function laterAfter(response: OutgoingResponse): NoAnswer {
  if (response.is === 'error') return { is: 'later', why: response.error, afterMs: null }
  const afterMs = response.retryAfterSeconds === null ? null : response.retryAfterSeconds * 1000
  return { is: 'later', why: `http_${response.status}`, afterMs }
}

/** The JSON object of a response; an empty body counts as an empty object. Null: the body is no JSON object. */
export function jsonObject(text: string): object | null {
  try {
    const value = JSON.parse(text === '' ? '{}' : text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}
