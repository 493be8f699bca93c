import type { Logger } from 'pino'
import type { Layer } from './context.ts'

/** How the requests of apps are answered in one protocol: where its description is, and the shape of what fails. */
export type AppProtocol<Problem extends { status: number; headers: Record<string, string> }> = {
  descriptionPath: string
  description: Promise<string>
  problemOf: (error: unknown) => Problem
  bodyOf: (problem: Problem, path: string) => unknown
}

/** Answers with the description, or with what `answer` sets; what is thrown is answered in the shape of the protocol. */
export async function answerApp<Problem extends { status: number; headers: Record<string, string> }>(
  ctx: Parameters<Layer>[0],
  log: Logger,
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
    if (problem.status >= 500) log.error({ id: ctx.state.requestId, operation: ctx.state.operation, err: error }, 'request failed')
    ctx.status = problem.status
    ctx.set(problem.headers)
    ctx.body = JSON.stringify(bodyOf(problem, ctx.path))
  }
  ctx.type = 'application/json; charset=utf-8'
}
