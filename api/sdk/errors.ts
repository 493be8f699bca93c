import { Refusal } from '../../domain/kernel/refusal.ts'
import { Problem, problemOf } from '../errors.ts'
import { isMissingUser } from '../v3/errors.ts'

/** Every error code of the mobile SDKs that is answered, with its usual status. 401 ends a session of the SDK, and so does 403: it is never sent. */
export const SDK_CATALOGUE = {
  internal: [10000, 500],
  malformed: [10001, 400],
  noProject: [10003, 401],
  noUserId: [10004, 400],
  wrongUserId: [10005, 400],
  unknownPlatform: [10006, 400],
  tooMany: [10007, 429],
  fraud: [10008, 422],
  notFound: [10009, 404],
  notConnected: [20005, 422],
  noAnswer: [20006, 502],
  wrongPurchase: [20008, 400],
  unlinkedProduct: [20011, 400],
  ofOtherUser: [20014, 422],
  refusedCredentials: [20201, 422],
} as const

export type SdkFault = keyof typeof SDK_CATALOGUE

type Options = { status?: number; headers?: Record<string, string>; cause?: unknown }

/** An answer to a mobile SDK that is an error. */
export class SdkProblem extends Error {
  readonly code: number
  readonly status: number
  readonly headers: Record<string, string>
  /** The refused claim has left an attempt. */
  isRecorded = false

  constructor(fault: SdkFault, message: string, { status, headers = {}, cause }: Options = {}) {
    super(message, { cause })
    const [code, usualStatus] = SDK_CATALOGUE[fault]
    this.code = code
    this.status = status ?? usualStatus
    this.headers = headers
  }
}

/** Whether an address is of the mobile SDKs, and so its errors have their shape. */
export const isSdkPath = (path: string): boolean => /^\/(v[12](\/|$)|attribution$)/.test(path)

export type SdkErrorBody = { success: false; data: { code: number; message: string } } | { error: { code: number; message: string } }

/** SDKs expect the error at the place that the version of the address has for it. */
export function sdkErrorBody({ code, message }: SdkProblem, path: string): SdkErrorBody {
  const failed = { code, message }
  return /^\/v2(\/|$)/.test(path) ? { error: failed } : { success: false, data: failed }
}

/** The answer for any thrown error, also for the errors that v4 shares with the SDKs. */
export function sdkProblemOf(error: unknown): SdkProblem {
  if (error instanceof SdkProblem) return error
  // A user may be erased while a request is under way: the next request creates the user again.
  if (error instanceof Refusal && error.code === 'not_found' && isMissingUser(error)) return new SdkProblem('notFound', 'user not found')
  const { status, headers, body } = problemOf(error)
  const { code, message } = body.error
  switch (code) {
    case 'control_unauthorized':
      return new SdkProblem('noProject', 'Invalid access token received', { headers })
    case 'rate_limit_exceeded':
      return new SdkProblem('tooMany', message, { headers })
    case 'network_error':
      return new SdkProblem('noAnswer', message)
    case 'invalid_data':
      return new SdkProblem('malformed', message)
    case 'invalid_request':
      return new SdkProblem('malformed', message, { ...(error instanceof Problem && { status }), headers })
    default:
      return new SdkProblem('internal', message, { status: status < 500 ? 422 : status, headers })
  }
}
