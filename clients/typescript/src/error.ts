import type { ErrorBody, ErrorDetail } from './generated/types.gen.ts'

/** A request that the service answered with a failure. Without an answer (no network, an abort signal) the error of `fetch` is thrown unchanged. */
export class PerennialError extends Error {
  override readonly name = 'PerennialError'
  readonly status: number
  /** The kind of failure, for programs; new codes may be added. */
  readonly code: string
  readonly type: ErrorBody['type']
  /** The faulty fields; empty when the failure is not about fields. */
  readonly details: readonly ErrorDetail[]
  /** Also in the log of the service. */
  readonly requestId: string | undefined
  /** Seconds until the request may be repeated, when the service says so. */
  readonly retryAfter: number | undefined

  constructor(response: { status: number; headers: Headers }, error: ErrorBody) {
    super(error.message)
    this.status = response.status
    this.code = error.code
    this.type = error.type
    this.details = error.details ?? []
    this.requestId = response.headers.get('X-Request-Id') ?? undefined
    const seconds = response.headers.get('Retry-After')
    this.retryAfter = seconds === null ? undefined : Number(seconds)
  }
}

/** Reads the failure from an answer. An answer that is not from the service, such as a proxy's page, has the code `unknown_error`. */
export async function failure(response: Response): Promise<PerennialError> {
  const text = await response.text()
  return new PerennialError(
    response,
    errorIn(text) ?? {
      type: response.status >= 500 ? 'internal' : 'request',
      code: 'unknown_error',
      message: `${response.status} without an answer of Perennial; is the url right?`,
    },
  )
}

function errorIn(text: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text)
    return typeof error?.code === 'string' ? error : undefined
  } catch {
    return undefined
  }
}
