import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder } from 'kysely'

/** A piece of SQL and the values of its parameters. */
export type Statement = { sql: string; parameters: unknown[] }

/** Numbers its parameters from `first`, so that the text can stand in a statement that has some already. */
class Compiler extends PostgresQueryCompiler {
  readonly #first: number
  constructor(first: number) {
    super()
    this.#first = first
  }
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.#first - 1 + this.numParameters}`
  }
}

/** Composed by Kysely, run by whoever asked for it: nothing here is connected to a database. */
export function compile(expression: RawBuilder<unknown>, first = 1): Statement {
  const builder = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => new Compiler(first),
    },
  })
  const { sql, parameters } = expression.compile(builder)
  return { sql, parameters: [...parameters] }
}
