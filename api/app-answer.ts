import { type Detail, Refusal } from '../domain/kernel/refusal.ts'
import type { Layer } from './context.ts'
import { type AttemptDeps, recordRefusedRequest } from './purchase-attempts.ts'
import { logFailure } from './refused-attempts.ts'

type AppProblem = {
  status: number
  headers: Record<string, string>
  code: string | number
  message: string
  details?: readonly Detail[]
}

/** How the requests of apps are answered in one protocol: its description, and the shape of its errors. */
export type AppProtocol<Problem extends AppProblem> = {
  descriptionPath: string
  description: Promise<string>
  problemOf: (error: unknown) => Problem
  bodyOf: (problem: Problem, path: string) => unknown
}

/** Answers with the description, or with the answer that `answer` sets. Thrown errors are answered in the shape of the protocol. */
export async function answerApp<Problem extends AppProblem>(
  ctx: Parameters<Layer>[0],
  deps: AttemptDeps,
  { descriptionPath, description, problemOf, bodyOf }: AppProtocol<Problem>,
  answer: () => Promise<void>,
): Promise<void> {
  try {
    if (ctx.path === descriptionPath && (ctx.method === 'GET' || ctx.method === 'HEAD')) {
      ctx.state.route = descriptionPath
      ctx.body = await description
    } else await answer()
  } catch (error) {
    const problem = problemOf(error)
    const { status, code, message: reason, details } = problem
    await recordRefusedRequest(deps, ctx.state, error)
    logFailure(deps.log, ctx.state, error, { status, code, reason: error instanceof Refusal ? error.message : reason, details })
    ctx.status = problem.status
    ctx.set(problem.headers)
    ctx.body = JSON.stringify(bodyOf(problem, ctx.path))
  }
  ctx.type = 'application/json; charset=utf-8'
}
