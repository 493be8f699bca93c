import type { Context } from './context.ts'
import type { Problem } from './errors.ts'

/** Writes an error as the answer, in the one shape of errors. */
export function writeProblem(ctx: Context, { status, headers, body }: Problem): void {
  ctx.status = status
  ctx.set(headers)
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = JSON.stringify(body)
}
