// biome-ignore lint/suspicious/noExplicitAny: methods of any shape
type Methods = Record<string, (...args: any[]) => unknown>

/**
 * A client that is loaded at the first call of one of its methods: the libraries of the stores take longer to load than the rest of the
 * service, and most processes need none of them at their start. All of its methods are asynchronous; `streams` names the methods that are
 * generators.
 */
export function loadedLater<Client extends object>(load: () => Promise<Client>, streams: readonly (keyof Client & string)[] = []): Client {
  let loading: Promise<Client> | undefined
  const loaded = async (): Promise<Methods> => {
    loading ??= load()
    return (await loading) as unknown as Methods
  }
  const method = (name: string) =>
    (streams as readonly string[]).includes(name)
      ? async function* (...args: unknown[]) {
          yield* (await loaded())[name]!(...args) as AsyncGenerator<unknown>
        }
      : async (...args: unknown[]) => (await loaded())[name]!(...args)
  // JavaScript takes a value with a `then` for a promise.
  return new Proxy({} as Client, { get: (_, name) => (typeof name === 'string' && name !== 'then' ? method(name) : undefined) })
}
