import type { CallOutcome } from '../../domain/operators/mcp-calls/record.ts'
import { resetting } from '../../domain/oversight/sandbox/reset.ts'
import type { RequestState } from '../context.ts'
import { invalidData, Problem, problemOf } from '../errors.ts'
import { permit } from '../permit.ts'
import { recordRefusedRequest } from '../purchase-attempts.ts'
import { logFailure, noteAttempt } from '../refused-attempts.ts'
import { type HttpAnswer, type RequestInput, repeated, run } from '../run.ts'
import { isOpenDuringReset } from '../sandbox-state.ts'
import { type AskedConfirmation, type Changes, confirmed, needsConfirmation, offered } from './confirm.ts'
import type { CallDeps, Calling } from './deps.ts'
import { type Arguments, byArgument, inputOf } from './input.ts'
import { recorded } from './recorded.ts'
import { rehearsalOf, rehearsedChanges } from './rehearsal.ts'
import { errorAnswer, type Lane, type Structured, structured, type ToolAnswer, toolAnswer } from './result.ts'
import type { Tool } from './tools.ts'

/** A result, or the question whether to go on. */
export type Called = { is: 'result'; result: ToolAnswer } | { is: 'asking'; confirmation: AskedConfirmation }

/** Runs the operation of a tool as a request of HTTP would. Throws a Problem. */
async function runTool({ deps, stateOf }: CallDeps, tool: Tool, { owner, requestId }: Calling, input: RequestInput): Promise<HttpAnswer> {
  const { route } = tool
  const { description } = route
  const match = { is: 'found' as const, route, parameters: input.parameters }
  const state: RequestState = { requestId, owner, operation: description.id, match, dryRun: input.dryRun }
  noteAttempt({ state })(input.body)
  try {
    permit(description, owner)
    if (owner.environmentKind === 'sandbox' && !isOpenDuringReset(description.id) && (await stateOf(owner)).isResetting)
      throw new Problem('conflict', resetting().message, { headers: { 'Retry-After': '1' } })
    const answer = await run(route, { owner, requestId }, input, { deps, check: deps.checkAnswer })
    if (answer.refusal !== undefined) await recordRefusedRequest(deps, state, answer.refusal)
    return answer
  } catch (error) {
    const problem = problemOf(error)
    const { code, message: reason, details } = problem.body.error
    await recordRefusedRequest(deps, state, error)
    logFailure(deps.log, state, error, { status: problem.status, code, reason, details })
    throw problem
  }
}

/** A fault as the result of a tool, with the names of its arguments. */
function faultOf(tool: Tool, error: unknown): ToolAnswer {
  const { status, headers, body } = problemOf(error)
  const { details } = body.error
  return errorAnswer({ status, headers, body: { error: { ...body.error, ...(details && { details: byArgument(tool, details) }) } } })
}

const json = (content: Structured): string => JSON.stringify(content)

type Dry = Changes & { status: number }

/** What the answer of an operation is for a tool. */
function toolAnswerOf(tool: Tool, { lane }: Calling, input: RequestInput, answer: HttpAnswer): ToolAnswer {
  if (answer.status >= 400) return errorAnswer({ status: answer.status, body: JSON.parse(answer.body!), headers: answer.headers })
  const { description } = tool.route
  if (!input.dryRun || description.dryRun === 'own') return toolAnswer(lane, structured(description, input.query, answer))
  const { status, changes, truncated }: Dry = JSON.parse(answer.body!)
  return toolAnswer(lane, json({ status, result: null, dry_run: { changes, truncated } }))
}

/** First call: what would change, and nothing is changed. */
async function ask(call: CallDeps, tool: Tool, calling: Calling, given: Arguments, input: RequestInput): Promise<AskedConfirmation> {
  const answer = await runTool(call, tool, calling, rehearsalOf(tool, input))
  return offered(call.deps, tool, calling.owner, given, rehearsedChanges(tool, JSON.parse(answer.body!)))
}

type Ended = { answer: Called; outcome: CallOutcome; status: number }

const outcomeOf = (status: number, success: CallOutcome): CallOutcome => (status < 400 ? success : status < 500 ? 'refused' : 'failed')

async function make(call: CallDeps, tool: Tool, calling: Calling, given: Arguments): Promise<Called & { status: number }> {
  // Validation fills defaults in, and a confirmation is of the arguments as they were given.
  const input = inputOf(tool, tool.confirm ? structuredClone(given) : given, call.deps.secrets)
  if (needsConfirmation(tool, given)) {
    const stored = await repeated(tool.route, calling.owner, input, call.deps.pool)
    if (stored) return { is: 'result', status: stored.status, result: toolAnswerOf(tool, calling, input, stored) }
    if (given.confirmation_token === undefined)
      return { is: 'asking', status: 202, confirmation: await ask(call, tool, calling, given, input) }
    await confirmed(call.deps, tool, calling.owner, given)
  }
  const answer = await runTool(call, tool, calling, input)
  return { is: 'result', status: answer.status, result: toolAnswerOf(tool, calling, input, answer) }
}

/** Makes a call and says what became of it. Every fault is a result. */
async function ended(call: CallDeps, tool: Tool, calling: Calling, given: Arguments): Promise<Ended> {
  try {
    const { status, ...answer } = await make(call, tool, calling, given)
    return { answer, status, outcome: outcomeOf(status, answer.is === 'asking' ? 'confirming' : 'done') }
  } catch (error) {
    const { status } = problemOf(error)
    return { answer: { is: 'result', result: faultOf(tool, error) }, status, outcome: outcomeOf(status, 'done') }
  }
}

/** Calls a tool for a grant. A call of one that writes is recorded. */
export async function callTool(call: CallDeps, tool: Tool, calling: Calling, given: Arguments): Promise<Called> {
  if (tool.isRead) return (await ended(call, tool, calling, given)).answer
  try {
    return await recorded(call.deps, tool, calling, given, () => ended(call, tool, calling, given))
  } catch (error) {
    call.deps.log.error({ id: calling.requestId, operation: tool.id, err: error }, 'request failed')
    return { is: 'result', result: faultOf(tool, error) }
  }
}

/** For clients that cannot ask the operator themselves. */
export const twoCalls = (lane: Lane, confirmation: AskedConfirmation): ToolAnswer =>
  toolAnswer(
    lane,
    json({ status: 202, result: null, confirmation }),
    `Nothing was changed. Show this to the operator and ask whether to go on: ${confirmation.summary} If so, call ${confirmation.tool} again with the same arguments, confirmation_token, confirm_id and the reason that the operator gives.`,
  )

/** The operator said no to a call. */
export const declined = (lane: Lane): ToolAnswer =>
  toolAnswer(lane, json({ status: 200, result: null, confirmation: { declined: true } }), 'The operator declined. Nothing was changed.')

export const unknownTool = (name: string): ToolAnswer =>
  errorAnswer(
    invalidData([{ field: 'name', message: `must be the name of a tool of the list, which ${JSON.stringify(name.slice(0, 100))} is not` }]),
  )
