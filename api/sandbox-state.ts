import { readSandbox } from '../domain/durable/clock/clock.ts'
import type { KeyOwner } from '../domain/projects/keys.ts'
import type { Pool } from '../store/connect.ts'

/** What an answer of a sandbox says of its clock, and whether the sandbox is being emptied. */
export type SandboxStates = (owner: Pick<KeyOwner, 'environment'>) => Promise<{ headers: Record<string, string>; isResetting: boolean }>

/** Asked for each request: an advance or a reset of another process must show at once. Production never asks. */
export const sandboxStates =
  (pool: Pool): SandboxStates =>
  async ({ environment }) => {
    const { ahead, is_resetting: isResetting } = await readSandbox(pool, environment)
    const headers: Record<string, string> = ahead === null ? {} : { 'X-Clock': ahead }
    return { headers, isResetting }
  }

const OPEN = new Set(['v4GetTestClock', 'v4ResetTestClock'])

/** Whether an operation of v4 answers while the sandbox is being emptied. */
export const isOpenDuringReset = (operation: string | undefined): boolean => operation !== undefined && OPEN.has(operation)
