type Detail = { field?: string; message: string }
type Body = { error?: { code?: string; message?: string; details?: Detail[] } }

/** An answer that is a failure, or no answer at all (status 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly details: readonly Detail[]
  /** Also in the log of the service. */
  readonly requestId: string | undefined
  /** Seconds until the request may be repeated. */
  readonly retryAfter: number | undefined

  constructor(status: number, body: Body | undefined, headers?: Headers) {
    super(body?.error?.message ?? (status === 0 ? 'The service does not answer.' : `The service answered ${status}.`))
    this.status = status
    this.code = body?.error?.code ?? (status === 0 ? 'no_answer' : 'unknown_error')
    this.details = body?.error?.details ?? []
    this.requestId = headers?.get('X-Request-Id') ?? undefined
    const seconds = Number(headers?.get('Retry-After'))
    this.retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
  }
}
