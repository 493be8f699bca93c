/** One HTTP request to somebody else's address. */
export type Request = {
  method: 'POST' | 'PUT' | 'GET' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Aborts with the lease or the process: `request` then throws its reason, for nothing is known about the attempt. */
  signal?: AbortSignal
  /** Until the whole answer is there; 10 s unless given. */
  limitMs?: number
}

/**
 * What became of it. `error`: no answer came; `error` names why: `address_refused`, `timeout`, `connection_failed`, `tls_failed`,
 * `answer_unreadable`, `request_invalid` (a header that cannot be sent). `text`: the first 64 KiB; `retryAfterSeconds` 1..86,400.
 */
export type Answer =
  | {
      is: 'answer'
      status: number
      retryAfterSeconds: number | null
      text: string
      durationMs: number
      /** By their names in lower case. */
      headers?: Readonly<Record<string, string | string[] | undefined>>
    }
  | { is: 'error'; error: string; durationMs: number }

/** The only way out of the house: guarded addresses, no redirects, bounded answers and time. Never throws for what the other side does. */
export type Outgoing = {
  request(request: Request): Promise<Answer>
  close(): Promise<void>
}
