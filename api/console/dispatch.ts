import type { Detail } from '../../domain/kernel/refusal.ts'
import { details } from '../../schemas/details.ts'
import type { Context } from '../context.ts'
import { invalidData } from '../errors.ts'
import { parseQuery } from '../query.ts'
import { readBody } from '../read-body.ts'
import type { ConsoleDeps } from './deps.ts'
import type { ConsoleCaller, ConsoleRoute } from './operation.ts'

type Input = { path: Record<string, string>; query: Record<string, unknown>; body: unknown }

/** Runs an operation of the console, with all faults of its input at once as in v4. Returns the JSON of the answer; null: it has none. */
export async function dispatchConsole(
  { description, operation }: ConsoleRoute,
  ctx: Context,
  path: Record<string, string>,
  caller: ConsoleCaller,
  { checkAnswer }: Pick<ConsoleDeps, 'checkAnswer'>,
): Promise<string | null> {
  const body = description.body ? await readBody(ctx.req, description.body.limit) : undefined
  const { values: query, faults } = parseQuery(ctx.querystring, description.query)
  const input = { path, query, body }
  validate(description, input, faults)
  const answer = await operation.answer({ ...input, ...caller } as never)
  // A stream is no JSON.
  if (answer !== undefined || description.status === 204) checkAnswer(description, description.status, answer)
  return answer === undefined ? null : JSON.stringify(answer)
}

function validate({ validate }: ConsoleRoute['description'], input: Input, faults: Detail[]): void {
  const all = [...faults]
  const seen = new Set(faults.map(({ field }) => field))
  for (const part of ['path', 'query', 'body'] as const) {
    const [validator, value] = [validate[part], input[part]]
    if (validator && value !== undefined && !validator(value))
      all.push(...details(validator.errors, part, value).filter(fault => part === 'body' || !seen.has(fault.field)))
  }
  if (all.length > 0) throw invalidData(all)
}
