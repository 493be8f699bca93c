import { ApiError } from './api-error.ts'
import { turn } from './turns.ts'

export type Sent = {
  method: string
  body?: unknown
  /** Of a write: the same key never acts twice. */
  key?: string
  signal?: AbortSignal
  headers?: Record<string, string>
  /** Of an answer that is no failure. */
  heard?: (headers: Headers) => void
}

/** Sends a request to the service and reads its JSON. A failure throws an `ApiError`. */
export async function request<Result>(address: string, { method, body, key, signal, headers, heard }: Sent): Promise<Result> {
  const done = await turn(address, signal)
  try {
    const response = await fetch(address, {
      method,
      signal: signal ?? null,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        ...(method !== 'GET' && { 'content-type': 'application/json', 'x-console': '1' }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      ...(method !== 'GET' && { body: JSON.stringify(body ?? {}) }),
    })
    const text = await response.text()
    const json = text === '' ? undefined : parsed(text)
    if (!response.ok) throw new ApiError(response.status, json as never, response.headers)
    heard?.(response.headers)
    return json as Result
  } catch (error) {
    if (error instanceof ApiError || (error as Error).name === 'AbortError') throw error
    throw new ApiError(0, undefined)
  } finally {
    done()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
