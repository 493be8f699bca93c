// Statements whose conditions depend on the request are composed with Kysely; all other statements are plain SQL. Import what composes
// them dynamically, where a statement is needed: Kysely is a quarter of all modules that the service would load at its start.
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder, sql } from 'kysely'

/** An empty list of conditions is true. */
export const and = (conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> =>
  conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`

/** A piece of SQL and the values of its parameters. */
export type CompiledSql = { sql: string; parameters: unknown[] }

/** Numbers its parameters from `first`, so that the text can stand in a statement that already has parameters. */
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

/** Compiles an expression for a caller that runs it on its own connection: nothing here is connected to a database. */
export function compile(expression: RawBuilder<unknown>, first = 1): CompiledSql {
  const builder = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => new Compiler(first),
    },
  })
  const compiled = expression.compile(builder)
  return { sql: compiled.sql, parameters: [...compiled.parameters] }
}
