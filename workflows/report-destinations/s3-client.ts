import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { S3Client } from '@aws-sdk/client-s3'
import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler'
import type { Settings } from '../destinations/destination.ts'
import { AddressRefused, type Guard, guardedLookup, refuseLiteral } from '../outgoing/guard.ts'

const IDLE_MS = 10_000
const REQUEST_MS = 60_000
const CONNECTIONS = 4

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

/** Throws `AddressRefused` for an endpoint that may not be called; those with names are judged when they are connected to. */
function checked(endpoint: string | undefined, guard: Guard): string | undefined {
  if (endpoint === undefined) return undefined
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null
  if (!(url?.protocol === 'https:' || (url?.protocol === 'http:' && guard.allowPrivateNetwork)))
    throw new AddressRefused('not an endpoint that may be called')
  refuseLiteral(url.hostname, guard)
  return endpoint
}

/** Ends with the signal whatever is under way: an upload in parts gives its requests none of its own. */
class EndingHandler extends NodeHttpHandler {
  readonly #end: AbortSignal

  constructor(options: NodeHttpHandlerOptions, end: AbortSignal) {
    super(options)
    this.#end = end
  }

  override handle(...[request, options]: Parameters<NodeHttpHandler['handle']>) {
    return super.handle(request, { ...options, abortSignal: this.#end })
  }
}

/** A client that connects only where the guard lets it, and until the signal; destroy it after use. */
export function s3Client(settings: Settings, guard: Guard, end: AbortSignal): S3Client {
  const { region, access_key_id, secret_access_key, endpoint: given } = settings
  const agent = { keepAlive: true, maxSockets: CONNECTIONS, lookup: guardedLookup(guard) }
  const endpoint = checked(text(given), guard)
  return new S3Client({
    region: String(region),
    credentials: { accessKeyId: String(access_key_id), secretAccessKey: String(secret_access_key) },
    // Names of buckets as hosts are Amazon's own; what else speaks S3 knows paths.
    ...(endpoint && { endpoint, forcePathStyle: true }),
    // Checksums in trailers are Amazon's own, too.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Attempts are counted, and waited between, by the delivery.
    maxAttempts: 1,
    requestHandler: new EndingHandler(
      {
        httpAgent: new HttpAgent(agent),
        httpsAgent: new HttpsAgent(agent),
        connectionTimeout: IDLE_MS,
        socketTimeout: IDLE_MS,
        requestTimeout: REQUEST_MS,
        throwOnRequestTimeout: true,
      },
      end,
    ),
  })
}
