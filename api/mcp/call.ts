import type { CallToolResult } from '@modelcontextprotocol/server'
import type { GrantOwner } from '../../domain/operators/grants/grant.ts'
import { resetting } from '../../domain/oversight/sandbox/reset.ts'
import type { RequestState } from '../context.ts'
import { invalidData, Problem, problemOf } from '../errors.ts'
import { recordRefusedRequest } from '../purchase-attempts.ts'
import { logFailure, noteAttempt } from '../refused-attempts.ts'
import { type HttpAnswer, permit, type RequestInput, run } from '../run.ts'
import { isOpenDuringReset, type SandboxStates } from '../sandbox-state.ts'
import type { ServerDeps } from '../server.ts'
import { type Arguments, byArgument, inputOf } from './input.ts'
import { errorResult, type Lane, structured, toolResult } from './result.ts'
import type { Tool } from './tools.ts'

/** `deps`: the address of the service is known only when it listens, so it is read at each call. */
export type CallDeps = { deps: ServerDeps; stateOf: SandboxStates }
export type Calling = { owner: GrantOwner; requestId: string; lane: Lane }

/** The operation of a tool, run as a request of HTTP would be. Throws what the operation throws, and what it has stored as its refusal. */
export async function runTool(
  { deps, stateOf }: CallDeps,
  tool: Tool,
  { owner, requestId }: Calling,
  input: RequestInput,
): Promise<HttpAnswer> {
  const { route } = tool
  const { description } = route
  const state: RequestState = {
    requestId,
    owner,
    operation: description.id,
    match: { is: 'found', route, parameters: input.parameters },
  }
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

/** The fault as the result of a tool, with the names of its arguments. */
export function faultOf(tool: Tool, error: unknown): CallToolResult {
  const problem = problemOf(error)
  const { details } = problem.body.error
  return errorResult(details ? { ...problem, body: { error: { ...problem.body.error, details: byArgument(tool, details) } } } : problem)
}

/** Calls a tool that the grant has. Every fault is a result. */
export async function callTool(call: CallDeps, tool: Tool, calling: Calling, given: Arguments): Promise<CallToolResult> {
  try {
    const input = inputOf(tool, given, call.deps.secrets)
    const answer = await runTool(call, tool, calling, input)
    if (answer.status >= 400) return errorResult({ status: answer.status, body: JSON.parse(answer.body!), headers: answer.headers })
    return toolResult(calling.lane, structured(tool.route.description, input.query, answer))
  } catch (error) {
    return faultOf(tool, error)
  }
}

export const unknownTool = (name: string): CallToolResult =>
  errorResult(
    invalidData([{ field: 'name', message: `must be the name of a tool of the list, which ${JSON.stringify(name.slice(0, 100))} is not` }]),
  )
