/**
 * A function whose calls of the same name share an execution that begins after them: one is under way, and all calls that come meanwhile wait for the
 * next one. So the result is never older than the call, and a name has two executions at most, however many calls it has.
 */
export function joined<A extends unknown[], T>(
  execute: (name: string, ...more: A) => Promise<T>,
): (name: string, ...more: A) => Promise<T> {
  const running = new Map<string, { now: Promise<T>; next?: Promise<T> }>()
  const start = (name: string, more: A): Promise<T> => {
    const now = execute(name, ...more)
    const own = { now }
    running.set(name, own)
    const end = () => {
      if (running.get(name) === own && !('next' in own)) running.delete(name)
    }
    now.then(end, end)
    return now
  }
  return (name, ...more) => {
    const current = running.get(name)
    if (!current) return start(name, more)
    current.next ??= current.now.then(
      () => start(name, more),
      () => start(name, more),
    )
    return current.next
  }
}
