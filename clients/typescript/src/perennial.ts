import type { Answer, Operations } from './calls.ts'
import { failure } from './error.ts'
import { type Client, createClient, createConfig } from './generated/client/index.ts'
import * as generated from './generated/sdk.gen.ts'

export type Settings = {
  /** Address of the service, as its `PUBLIC_URL`: `https://perennial.example.org`. */
  url: string
  /** Secret Key, `sk_…`, or `test_sk_…` for the sandbox. */
  key: string
  /** Takes the place of the global `fetch`, for proxies, logs or tests. */
  fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** The operations of the service at `url`. Nothing is sent before one is called, and no request is ever repeated by itself. */
export function perennial({ url, key, fetch }: Settings): Operations {
  const client = createClient(
    createConfig({
      baseUrl: new URL(url).href,
      auth: key,
      throwOnError: true,
      parseAs: 'json',
      // Followed, a redirected POST would become a GET, and nothing would have been done.
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

type Given = { path?: Record<string, unknown> }
type Taken = { data: unknown; response: Response }
type Operation = (options: Given & { client: Client }) => Promise<Taken>

const bind =
  (client: Client, operation: Operation) =>
  (call: Given = {}): Answer<unknown> => {
    const taken = run(client, operation, call)
    const data = taken.then(({ data }) => data)
    const withResponse = () => {
      // Its failure is the other promise's too, and reported there.
      data.catch(() => {})
      return taken
    }
    return Object.assign(data, { withResponse })
  }

async function run(client: Client, operation: Operation, call: Given): Promise<Taken> {
  for (const [name, value] of Object.entries(call.path ?? {})) {
    // In an address these are steps to another one: to delete `..` of a user's entitlements would be to delete somewhere else.
    if (value === '' || value === '.' || value === '..') throw new RangeError(`path.${name} cannot be '${value}'`)
  }
  // Not enumerable, so that it is read but not copied into the request: Deno takes a `client` there for one of its own.
  const options = Object.defineProperty({ ...call }, 'client', { value: client }) as Given & { client: Client }
  const { data, response } = await operation(options)
  return { data: response.status === 204 ? undefined : data, response }
}
