import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { S3Client } from '@aws-sdk/client-s3'
import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler'
import type { Settings } from '../destinations/destination.ts'
import { textSetting } from '../destinations/vendor-request.ts'
import { AddressRefused, type Guard, guardedLookup, refuseLiteral } from '../outgoing/guard.ts'

const IDLE_MS = 10_000
const REQUEST_MS = 60_000
const CONNECTIONS = 4

/** Throws `AddressRefused` for an endpoint that may not be called. The lookup checks host names when it resolves them. */
function requireAllowed(endpoint: string, guard: Guard): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null
  if (!(url?.protocol === 'https:' || (url?.protocol === 'http:' && guard.allowPrivateNetwork)))
    throw new AddressRefused('not an endpoint that may be called')
  refuseLiteral(url.hostname, guard)
}

/** Every request ends with the signal: an upload in parts passes no signal to its requests. */
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

/** A client that connects only to addresses that the guard allows, and until the signal. Destroy it after use. */
export function s3Client(settings: Settings, guard: Guard, end: AbortSignal): S3Client {
  const { region, access_key_id, secret_access_key } = settings
  const agent = { keepAlive: true, maxSockets: CONNECTIONS, lookup: guardedLookup(guard) }
  const endpoint = textSetting(settings, 'endpoint')
  if (endpoint !== '') requireAllowed(endpoint, guard)
  return new S3Client({
    region: String(region),
    credentials: { accessKeyId: String(access_key_id), secretAccessKey: String(secret_access_key) },
    // Only Amazon resolves bucket names as hosts; other S3 servers know paths.
    ...(endpoint !== '' && { endpoint, forcePathStyle: true }),
    // Only Amazon knows checksums in trailers, too.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The delivery counts attempts and waits between them.
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
