import pg from 'pg'

type Settings = Record<string, string>
type Callback = (error: Error | null | undefined, result?: unknown) => void
type Given = string | pg.QueryConfig | pg.Submittable

const BEGIN = /^\s*(begin|start\s+transaction)\b/i

/**
 * Connections through a pooler that gives each transaction another session (PgBouncer in transaction mode). What belongs to a session holds
 * for one transaction: settings go with the statement that begins it, and prepared statements have no names. A statement outside of a
 * transaction travels together with its settings, in one message to the server, and the server takes both for one transaction.
 */
export function perTransaction(Client: typeof pg.Client, settings: Settings): typeof pg.Client {
  const all = Object.entries(settings)
  const quoted = (text: string) => pg.escapeLiteral(text)
  const local = all.map(([name, value]) => `set local ${name} = ${quoted(value)}`).join('; ')
  // It returns no row, so that the answer is that of the statement behind it.
  const values = all.map(([name, value]) => `(${quoted(name)}, ${quoted(value)})`).join(', ')
  const before = `select from (values ${values}) s(name, value) where set_config(name, value, true) is null`

  return class extends Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      const send = this.query.bind(this) as (given: Given, values?: unknown, callback?: Callback) => unknown
      const query = (given: Given, values?: unknown, callback?: Callback): unknown => {
        if (typeof given !== 'string' && 'submit' in given) return send(given, values, callback)
        const { name: _, ...config } = typeof given === 'string' ? { text: given } : given
        const done = typeof values === 'function' ? (values as Callback) : callback
        const statement = { ...config, ...(Array.isArray(values) && { values }) }
        if (BEGIN.test(statement.text)) return send({ text: `${statement.text}; ${local}` }, done)
        if (this.#isInTransaction()) return send(statement, done)
        if (done) return single(send, statement, before, done)
        return new Promise((resolve, reject) =>
          single(send, statement, before, (error, result) => (error ? reject(error) : resolve(result))),
        )
      }
      this.query = query as typeof this.query
    }

    #isInTransaction(): boolean {
      const { getTransactionStatus } = this as unknown as { getTransactionStatus(): string | null }
      return ['T', 'E'].includes(getTransactionStatus.call(this) ?? 'I')
    }
  }
}

/** Sends a statement behind the one of the settings. The driver collects the results of both. */
function single(send: (given: Given) => unknown, statement: pg.QueryConfig, before: string, done: Callback): void {
  const extended = { ...statement, queryMode: 'extended' }
  const query = new pg.Query(extended, (error, results) => done(error, Array.isArray(results) ? results.at(-1) : results))
  const { submit } = query
  query.submit = connection => {
    const { stream } = connection
    stream.cork()
    try {
      connection.parse({ name: '', text: before, types: [] }, true)
      connection.bind({}, true)
      connection.execute({}, true)
      return submit.call(query, connection)
    } finally {
      stream.uncork()
    }
  }
  send(query)
}
