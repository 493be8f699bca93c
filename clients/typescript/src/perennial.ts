import type { Answer, Operations } from './calls.ts'
import { failure } from './error.ts'
import { type Client, createClient, createConfig } from './generated/client/index.ts'
import * as generated from './generated/sdk.gen.ts'

export type Settings = {
  /** Address of the service, like its `PUBLIC_URL`: `https://perennial.example.org`. */
  url: string
  /** Secret Key, `sk_…`, or `test_sk_…` for the sandbox; or a named key, `pnk_…`. */
  key: string
  /** Replaces the global `fetch`, for proxies, logs or tests. */
  fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** The operations of the service at `url`. Creating the client sends nothing, and the client never repeats a request by itself. */
export function perennial({ url, key, fetch }: Settings): Operations {
  const client = createClient(
    createConfig({
      baseUrl: new URL(url).href,
      auth: key,
      throwOnError: true,
      parseAs: 'json',
      // `fetch` would follow a redirected POST with a GET, which would do nothing.
      redirect: 'manual',
      ...(fetch && { fetch: fetch as typeof globalThis.fetch }),
    }),
  )
  client.interceptors.response.use(async response => {
    const json = response.headers.get('Content-Type')?.startsWith('application/json') ?? false
    if (response.ok && (json || response.status === 204)) return response
    throw await failure(response)
  })
  const bound = Object.entries(generated).map(([name, operation]) => [name, bind(client, operation as Operation)] as const)
  return Object.fromEntries(bound) as unknown as Operations
}

type Input = { path?: Record<string, unknown> }
type Result = { data: unknown; response: Response }
type Operation = (options: Input & { client: Client }) => Promise<Result>

const bind =
  (client: Client, operation: Operation) =>
  (call: Input = {}): Answer<unknown> => {
    const result = run(client, operation, call)
    const data = result.then(({ data }) => data)
    const withResponse = () => {
      // The returned promise reports the failure. `data` rejects with the same failure, which would be unhandled.
      data.catch(() => {})
      return result
    }
    return Object.assign(data, { withResponse })
  }

async function run(client: Client, operation: Operation, call: Input): Promise<Result> {
  for (const [name, value] of Object.entries(call.path ?? {})) {
    // In an address these segments lead to another address: to delete the entitlement `..` of a user would delete another object.
    if (value === '' || value === '.' || value === '..') throw new RangeError(`path.${name} cannot be '${value}'`)
  }
  // Not enumerable, so that `client` is read but not copied into the request: Deno's `fetch` has an option of the same name.
  const options = Object.defineProperty({ ...call }, 'client', { value: client }) as Input & { client: Client }
  const { data, response } = await operation(options)
  return { data: response.status === 204 ? undefined : data, response }
}
