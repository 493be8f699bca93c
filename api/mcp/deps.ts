import type { Logger } from 'pino'
import type { GrantOwner } from '../../domain/operators/grants/grant.ts'
import type { Pool } from '../../store/connect.ts'
import type { AnswerCheck } from '../answered.ts'
import type { ExecutionDeps } from '../run.ts'
import type { SandboxStates } from '../sandbox-state.ts'
import type { Lane } from './result.ts'

export type McpDeps = ExecutionDeps & {
  log: Logger
  /** Connections for tokens, which no statement of a tenant uses. They plan a statement once (`plansOnce`). */
  callers: Pool
  checkAnswer: AnswerCheck
  /** Origins of browsers that may call the MCP server, beside the service's own. */
  mcpOrigins: readonly string[]
}

/** `deps`: the address of the service is known only when it listens, so it is read at each call. */
export type CallDeps = { deps: McpDeps; stateOf: SandboxStates }

/** Who calls a tool, in which request, and in which revision of the protocol. */
export type Calling = { owner: GrantOwner; requestId: string; lane: Lane }
