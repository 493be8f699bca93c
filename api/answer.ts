import type { AnswerCheck } from './answered.ts'
import type { Context, Match } from './context.ts'
import { dispatch } from './dispatch.ts'
import { meansDryRun } from './dry-run.ts'
import { invalidData, Problem } from './errors.ts'
import type { Route } from './operation.ts'
import { type AttemptDeps, recordRefusedRequest } from './purchase-attempts.ts'
import { noteAttempt } from './refused-attempts.ts'
import type { ExecutionDeps } from './run.ts'

type AnswerDeps = ExecutionDeps & AttemptDeps & { checkAnswer: AnswerCheck }

/** Answers a request of a known caller with the operation that the router of v4 has found. `onBody`: may refuse it, before the body is validated. */
export async function answerRequest(
  deps: AnswerDeps,
  ctx: Context,
  onBody: (route: Route, body: unknown) => void = () => {},
): Promise<void> {
  const { match, requestId, owner } = ctx.state
  const { route, parameters } = foundOrRefused(match)
  ctx.state.operation = route.description.id
  ctx.state.dryRun = meansDryRun(route.description, ctx.req.headers['dry-run'])
  const note = noteAttempt(ctx)
  const incoming = {
    request: ctx.req,
    requestId,
    path: ctx.path,
    parameters,
    search: ctx.querystring,
    owner: owner!,
    onBody: (body: unknown) => {
      note(body)
      onBody(route, body)
    },
  }
  const { status, headers, body, refusal } = await dispatch(route, incoming, deps, deps.checkAnswer)
  if (refusal !== undefined) await recordRefusedRequest(deps, ctx.state, refusal)
  ctx.status = status
  ctx.set(headers)
  if (body === null) ctx.body = null
  else json(ctx, body)
}

/** `Of`: the routes of the router that has looked. */
export function foundOrRefused<Of = Route>(match: Match): { route: Of; parameters: Record<string, string> } {
  switch (match.is) {
    case 'found':
      return match as unknown as { route: Of; parameters: Record<string, string> }
    case 'malformed':
      throw invalidData([{ field: 'path', message: 'is not valid percent-encoded UTF-8' }])
    case 'none':
      throw new Problem('invalid_request', 'no such route', { status: 404 })
    case 'method':
      throw new Problem('invalid_request', 'the route does not know this method', { status: 405, headers: { Allow: match.allow } })
    default:
      return match satisfies never
  }
}

export function json(ctx: Context, body: string): void {
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = body
}
