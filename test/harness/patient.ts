import { randomUUID } from 'node:crypto'
import type { Answer, Client } from './client.ts'
import { until } from './until.ts'

/** A client as the documentation recommends: it repeats a failed request, under the same idempotency key, until there is a response. */
export const patient =
  (call: Client): Client =>
  (method, path, options = {}) => {
    const headers = { 'Idempotency-Key': randomUUID(), ...options.headers }
    let last: Answer | undefined
    return until(
      `an answer to ${method} ${path}`,
      async () => {
        last = await call(method, path, { ...options, headers }).catch(() => undefined)
        return last && last.status < 500 && last.status !== 409 ? last : undefined
      },
      60_000,
    ).catch(error => {
      throw new Error(`${error.message}; the last response was ${last?.status} ${last?.text}`)
    })
  }
