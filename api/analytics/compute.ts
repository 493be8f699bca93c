import type { FactAccess } from '../../domain/analytics/figures/open-source.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import { type AnswerCheck, answerOf } from '../answered.ts'
import type { Answered } from '../idempotency.ts'
import type { ApiDeps, ApiOperation, FiguresCaller, Route } from '../operation.ts'

/** A read of figures that has passed every check. */
export type FiguresRequest = FiguresCaller & { path: Record<string, string>; query: Record<string, unknown>; body: unknown }
export type FiguresRoute = Route & { operation: Extract<ApiOperation, { mode: 'figures' }> }
export type FiguresDeps = Pick<ApiDeps, 'pool' | 'turns'> & { facts: FactAccess }
/** The process that computes figures. `ask` resolves to null when it cannot be reached, and throws the refusals of the operation. */
export type AnalyticsProcess = { ask(operation: string, request: FiguresRequest, gone: AbortSignal): Promise<Answered | null> }

/** Computes the answer in this process. A caller who leaves before it is their turn costs nothing: somebody who reads charts soon goes on to the next. */
export const computeFigures = (
  { description, operation }: FiguresRoute,
  request: FiguresRequest,
  { pool, facts, turns }: FiguresDeps,
  { check, isGone }: { check: AnswerCheck; isGone: () => boolean },
): Promise<Answered> =>
  turns(request.environment, true, async () => {
    if (isGone()) throw new Refusal('upstream_timeout', 'nobody waits for the figures any more')
    const reply = await operation.handle({ ...request, db: pool, facts } as never)
    return answerOf({ description, check, call: request }, reply)
  })
